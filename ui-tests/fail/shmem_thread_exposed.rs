// Rule: what is of a job stays on the thread of its PE.
// Instead: send values, such as `to_vec()?`; one PE is one thread.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Exposed, ShmemBuffer};

fn user(value: Exposed<ShmemBuffer<'_, f32>>) {
    std::thread::scope(|s| {
        s.spawn(|| value.len());
    });
}

fn main() {}
