// Rule: what is exposed is taken back by a barrier.
// Instead: use it, or `drop` it.
//~ -
//~ right: pass/shmem.rs
#![deny(unused_must_use)]

use escrow::{Error, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, table: ShmemBuffer<'_, f32>) -> Result<(), Error> {
    job.barrier_all(table)?;
    Ok(())
}

fn main() {}
