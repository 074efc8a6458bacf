// Rule: a swap is of one buffer that is local and one that is exposed.
// Instead: `job.barrier_all((a, b))?` flips any two.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user<'job>(
    job: &'job ShmemContext,
    a: &mut ShmemBuffer<'job, f32>,
    b: &mut ShmemBuffer<'job, f32>,
) -> Result<(), Error> {
    job.barrier_swap(a, b)
}

fn main() {}
