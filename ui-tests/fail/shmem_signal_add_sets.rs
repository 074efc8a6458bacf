// Rule: a signal that is added to is not set.
// Instead: make it by `job.create_signal(Set)?`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemContext, Signal, shmem::Add};

fn user(job: &ShmemContext, arrived: &Signal<'_, Add>) -> Result<(), Error> {
    arrived.set(job.next(), 1)
}

fn main() {}
