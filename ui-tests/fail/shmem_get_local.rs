// Rule: other PEs' copies are read only while they are exposed.
// Instead: `let open = job.barrier_all(src)?;` on all PEs.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, src: &ShmemBuffer<'_, f32>, dst: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    job.get(src, dst, job.next())
}

fn main() {}
