// Rule: a put names a PE of the job, and not one of a team.
// Instead: `team.to_world(pe)?`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, Exposed, Pe, ShmemBuffer, ShmemContext};

escrow::teams! { Row }

fn user(
    job: &ShmemContext,
    src: &DeviceBuffer<f32>,
    open: &Exposed<ShmemBuffer<'_, f32>>,
    pe: Pe<'_, Row>,
) -> Result<(), Error> {
    job.put(src, open, pe)
}

fn main() {}
