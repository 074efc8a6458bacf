// Rule: exposed memory is not the destination of a copy.
// Instead: `let mine = job.barrier_all(open)?;` first, or `job.put` to this PE itself.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer};

fn user(src: &DeviceBuffer<f32>, open: &mut Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    src.enqueue_copy_to(open)?;
    Ok(())
}

fn main() {}
