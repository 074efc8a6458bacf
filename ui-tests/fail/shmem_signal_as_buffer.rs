// Rule: a signal is no memory for puts.
// Instead: `ready.set(pe, 1)?`, or `job.put_signal(..)` with data.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Error, ShmemContext, Signal, shmem::Set};

fn user(job: &ShmemContext, src: &DeviceBuffer<u64>, ready: &Signal<'_, Set>) -> Result<(), Error> {
    job.put(src, ready, job.next())
}

fn main() {}
