// Rule: atomic operations are for integers of 32 and 64 bits.
// Instead: a reduction, or fixed-point integers.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    job.atomics()?.add(1.0f32, open, 0, job.next())
}

fn main() {}
