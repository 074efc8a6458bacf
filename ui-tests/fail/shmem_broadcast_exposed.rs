// Rule: collectives take local memory.
// Instead: `let mine = job.barrier_all(open)?;` first.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user<'job>(
    job: &'job ShmemContext,
    open: &Exposed<ShmemBuffer<'job, f32>>,
    dst: &mut ShmemBuffer<'job, f32>,
) -> Result<(), Error> {
    job.world().broadcast(job.me(), open, dst)
}

fn main() {}
