// Rule: reductions go to local memory.
// Instead: `let mine = job.barrier_all(open)?;` first.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext, shmem::Sum};

fn user<'job>(
    job: &'job ShmemContext,
    src: &ShmemBuffer<'job, f32>,
    open: &mut Exposed<ShmemBuffer<'job, f32>>,
) -> Result<(), Error> {
    job.world().reduce(Sum, src, open)
}

fn main() {}
