// Rule: the host does not index exposed memory.
// Instead: `job.barrier_all(open)?.to_vec()?`, or `job.g(&open, 0, job.me())?` for one element.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Exposed, ShmemBuffer};

fn user(open: &Exposed<ShmemBuffer<'_, f32>>) -> f32 {
    open[0]
}

fn main() {}
