// Rule: `And`, `Or` and `Xor` are for integers.
// Instead: `Sum`, `Prod`, `Min` or `Max`, or integers of the same size.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext, shmem::And};

fn user<'job>(
    job: &'job ShmemContext,
    src: &ShmemBuffer<'job, f32>,
    dst: &mut ShmemBuffer<'job, f32>,
) -> Result<(), Error> {
    job.world().reduce(And, src, dst)
}

fn main() {}
