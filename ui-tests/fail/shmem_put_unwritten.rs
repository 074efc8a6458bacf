// Rule: memory is written before it is the source of a put.
// Instead: `enqueue_fill` it, or copy into it, first.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    let src = job.context().enqueue_create_buffer::<f32>(8)?;
    job.put(&src, open, job.next())
}

fn main() {}
