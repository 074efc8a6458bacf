// Rule: the root of a broadcast is a PE of its team.
// Instead: `row.pe(0)?`.
//~ E0308
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext, Team};

escrow::teams! { Row }

fn user<'job>(
    job: &'job ShmemContext,
    row: &Team<'job, Row>,
    src: &ShmemBuffer<'job, f32>,
    dst: &mut ShmemBuffer<'job, f32>,
) -> Result<(), Error> {
    row.broadcast(job.me(), src, dst)
}

fn main() {}
