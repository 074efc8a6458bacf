// Rule: plain device memory is no other PE's to reach.
// Instead: make it by `job.create_buffer_zeroed(len)`, and expose it.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, ShmemContext};

fn user(job: &ShmemContext, src: &DeviceBuffer<f32>, dst: &DeviceBuffer<f32>) -> Result<(), Error> {
    job.put(src, dst, job.next())
}

fn main() {}
