// Rule: exposed memory is not the source of a copy.
// Instead: `let mine = job.barrier_all(open)?;` first, or `job.get` from this PE's own copy.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer};

fn user(dst: &mut DeviceBuffer<f32>, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    dst.enqueue_copy_from(open)?;
    Ok(())
}

fn main() {}
