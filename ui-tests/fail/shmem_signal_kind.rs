// Rule: a signal is set or added to, for good.
// Instead: `job.create_signal(Set)?` or `job.create_signal(Add)?`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemContext, shmem::Sum};

fn user(job: &ShmemContext) -> Result<(), Error> {
    let signal = job.create_signal(Sum)?;
    Ok(())
}

fn main() {}
