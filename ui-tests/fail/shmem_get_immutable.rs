// Rule: the destination of a get is written.
// Instead: `&mut dst`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, open: &Exposed<ShmemBuffer<'_, f32>>, dst: &DeviceBuffer<f32>) -> Result<(), Error> {
    job.get(open, dst, job.next())
}

fn main() {}
