// Rule: what is of a job stays on the thread of its PE.
// Instead: send values, such as `to_vec()?`; one PE is one thread.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Signal, shmem::Set};

fn user(value: Signal<'_, Set>) {
    std::thread::scope(|s| {
        s.spawn(|| value.fetch());
    });
}

fn main() {}
