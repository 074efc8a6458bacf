// Rule: memory that nothing has written is not exposed.
// Instead: `enqueue_fill` it first, or make it by `create_buffer_zeroed`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemContext};

fn user(job: &ShmemContext) -> Result<(), Error> {
    let raw = job.create_buffer::<f32>(8)?;
    let open = job.barrier_all(raw)?;
    Ok(())
}

fn main() {}
