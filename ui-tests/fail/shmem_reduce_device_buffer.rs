// Rule: collectives take symmetric memory.
// Instead: make it by `job.create_buffer_zeroed(len)`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, ShmemBuffer, ShmemContext, shmem::Sum};

fn user<'job>(job: &'job ShmemContext, src: &DeviceBuffer<f32>, dst: &mut ShmemBuffer<'job, f32>) -> Result<(), Error> {
    job.world().reduce(Sum, src, dst)
}

fn main() {}
