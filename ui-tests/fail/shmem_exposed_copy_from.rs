// Rule: exposed memory does not receive copies.
// Instead: `let mine = job.barrier_all(open)?;` first.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer};

fn user(src: &DeviceBuffer<f32>, open: &mut Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    open.enqueue_copy_from(src)?;
    Ok(())
}

fn main() {}
