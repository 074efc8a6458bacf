// Rule: a span of local memory ends before the barrier that exposes it.
// Instead: take the span behind the barrier that makes it local again.
//~ E0505
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user<'job>(job: &'job ShmemContext, table: ShmemBuffer<'job, f32>) -> Result<Vec<f32>, Error> {
    let span = table.as_span();
    let open = job.barrier_all(table)?;
    span.to_vec()
}

fn main() {}
