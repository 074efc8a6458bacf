// Rule: a barrier takes values, and gives them back in their other phase.
// Instead: pass it by value; `job.barrier_swap` for fields.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user<'job>(job: &'job ShmemContext, table: &mut ShmemBuffer<'job, f32>) -> Result<(), Error> {
    job.barrier_all(table)?;
    Ok(())
}

fn main() {}
