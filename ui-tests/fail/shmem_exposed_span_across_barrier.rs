// Rule: a part of exposed memory ends before the barrier that makes it local.
// Instead: take the part of what is exposed then.
//~ E0505
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user<'job>(job: &'job ShmemContext, open: Exposed<ShmemBuffer<'job, u32>>) -> Result<(), Error> {
    let part = open.slice(1..)?;
    let mine = job.barrier_all(open)?;
    job.p(1, &part, 0, job.next())
}

fn main() {}
