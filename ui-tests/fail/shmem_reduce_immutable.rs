// Rule: the destination of a reduction is written.
// Instead: `&mut total`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext, shmem::Sum};

fn user<'job>(job: &'job ShmemContext, mine: &ShmemBuffer<'job, f32>, total: &ShmemBuffer<'job, f32>) -> Result<(), Error> {
    job.world().reduce(Sum, mine, total)
}

fn main() {}
