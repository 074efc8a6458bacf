// Rule: by signals, the program answers for the phases.
// Instead: `job.barrier_all(open)?`, or `unsafe` with a reason.
//~ E0133
//~ right: pass/shmem.rs
use escrow::{Exposed, ShmemBuffer};

fn user<'job>(open: Exposed<ShmemBuffer<'job, f32>>) -> ShmemBuffer<'job, f32> {
    open.assume_local()
}

fn main() {}
