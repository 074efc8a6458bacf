// Rule: a put reads device memory.
// Instead: `ctx.enqueue_create_buffer_from(host)?` first.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, HostBuffer, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, src: &HostBuffer<f32>, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    job.put(src, open, job.next())
}

fn main() {}
