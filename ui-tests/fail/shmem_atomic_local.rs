// Rule: atomic operations are on exposed memory.
// Instead: `let open = job.barrier_all(counter)?;` on all PEs.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, counter: &ShmemBuffer<'_, u64>) -> Result<(), Error> {
    job.atomics()?.add(1, counter, 0, job.next())
}

fn main() {}
