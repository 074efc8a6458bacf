// Rule: the operands of a put are of the job's stream.
// Instead: `up.handoff(src, job.context())?` first.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer, ShmemContext};

escrow::streams! { Upload }

fn user(
    job: &ShmemContext,
    src: &DeviceBuffer<f32, Upload>,
    open: &Exposed<ShmemBuffer<'_, f32>>,
) -> Result<(), Error> {
    job.put(src, open, job.next())
}

fn main() {}
