// Rule: an atomic operation has the type of the elements.
// Instead: a value of that type.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, open: &Exposed<ShmemBuffer<'_, u64>>) -> Result<(), Error> {
    job.atomics()?.add(1u32, open, 0, job.next())
}

fn main() {}
