// Rule: without the barrier nothing changes its phase.
// Instead: `job.barrier_all(table)?`, or `unsafe` with a reason.
//~ E0133
//~ right: pass/shmem.rs
use escrow::{Exposed, Flip, ShmemBuffer};

fn user<'job>(open: Exposed<ShmemBuffer<'job, f32>>) -> ShmemBuffer<'job, f32> {
    Flip::flip(open)
}

fn main() {}
