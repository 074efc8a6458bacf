// Rule: a put converts nothing: both sides have the same elements.
// Instead: a buffer of the other type, filled by a kernel.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, src: &DeviceBuffer<f32>, open: &Exposed<ShmemBuffer<'_, f64>>) -> Result<(), Error> {
    job.put(src, open, job.next())
}

fn main() {}
