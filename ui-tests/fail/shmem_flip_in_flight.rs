// Rule: host memory in flight does not go through a barrier.
// Instead: `job.context().synchronize(host)?`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, HostBuffer, InFlight, ShmemContext};

fn user(job: &ShmemContext, host: InFlight<HostBuffer<f32>>) -> Result<(), Error> {
    job.barrier_all(host)?;
    Ok(())
}

fn main() {}
