// Rule: other PEs reach a symmetric buffer only while it is exposed.
// Instead: `let open = job.barrier_all(dst)?;` on all PEs.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, src: &DeviceBuffer<f32>, dst: &ShmemBuffer<'_, f32>) -> Result<(), Error> {
    job.put(src, dst, job.next())
}

fn main() {}
