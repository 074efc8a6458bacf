// Rule: a signal that is set is not added to.
// Instead: make it by `job.create_signal(Add)?`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemContext, Signal, shmem::Set};

fn user(job: &ShmemContext, ready: &Signal<'_, Set>) -> Result<(), Error> {
    ready.add(job.next(), 1)
}

fn main() {}
