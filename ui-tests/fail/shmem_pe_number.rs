// Rule: a number is no PE.
// Instead: `job.pe(1)?`, which checks it.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, src: &DeviceBuffer<f32>, open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    job.put(src, open, 1)
}

fn main() {}
