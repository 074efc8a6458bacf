// Rule: a barrier changes the type: a variable does not take both phases.
// Instead: two buffers, `(open, halo) = job.barrier_all((halo, open))?;`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user<'job>(job: &'job ShmemContext, mut halo: ShmemBuffer<'job, f32>) -> Result<(), Error> {
    for _ in 0..3 {
        halo = job.barrier_all(halo)?;
    }
    Ok(())
}

fn main() {}
