// Rule: what is in flight is not the source of a put.
// Instead: `job.context().synchronize(host)?`, then copy it to the device.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, HostBuffer, InFlight, ShmemBuffer, ShmemContext};

fn user(
    job: &ShmemContext,
    src: &InFlight<HostBuffer<f32>>,
    open: &Exposed<ShmemBuffer<'_, f32>>,
) -> Result<(), Error> {
    job.put(src, open, job.next())
}

fn main() {}
