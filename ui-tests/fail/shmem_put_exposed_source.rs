// Rule: the source of a put is this PE's own.
// Instead: put from a local buffer, or `get` into one first.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    job.put(open, open, job.next())
}

fn main() {}
