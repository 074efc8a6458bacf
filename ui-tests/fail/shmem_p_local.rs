// Rule: a single element goes to exposed memory too.
// Instead: `let open = job.barrier_all(dst)?;` on all PEs.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, dst: &ShmemBuffer<'_, u32>) -> Result<(), Error> {
    job.p(1, dst, 0, job.next())
}

fn main() {}
