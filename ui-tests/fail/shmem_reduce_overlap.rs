// Rule: the source of a reduction is not its destination.
// Instead: two buffers.
//~ E0502
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext, shmem::Sum};

fn user<'job>(job: &'job ShmemContext, mut values: ShmemBuffer<'job, f32>) -> Result<(), Error> {
    job.world().reduce(Sum, &values, &mut values)
}

fn main() {}
