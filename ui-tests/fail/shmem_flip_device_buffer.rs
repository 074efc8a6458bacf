// Rule: plain device memory has no phases.
// Instead: make it by `job.create_buffer_zeroed(len)`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, ShmemContext};

fn user(job: &ShmemContext, dev: DeviceBuffer<f32>) -> Result<(), Error> {
    let open = job.barrier_all(dev)?;
    Ok(())
}

fn main() {}
