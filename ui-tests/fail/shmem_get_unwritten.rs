// Rule: a get writes memory that has been written before.
// Instead: `enqueue_fill` it first, or make it by `enqueue_create_buffer_zeroed`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    let mut dst = job.context().enqueue_create_buffer::<f32>(8)?;
    job.get(open, &mut dst, job.next())
}

fn main() {}
