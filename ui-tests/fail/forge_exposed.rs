// Rule: nothing is exposed but by a barrier.
// Instead: `job.barrier_all(table)?`.
//~ E0423
//~ right: pass/shmem.rs
use escrow::{Exposed, ShmemBuffer};

fn user(table: ShmemBuffer<'_, f32>) -> Exposed<ShmemBuffer<'_, f32>> {
    Exposed(table)
}

fn main() {}
