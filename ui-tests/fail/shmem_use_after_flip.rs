// Rule: what went through a barrier is in its other phase.
// Instead: use what the barrier returned.
//~ E0382
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, table: ShmemBuffer<'_, f32>) -> Result<Vec<f32>, Error> {
    let open = job.barrier_all(table)?;
    table.to_vec()
}

fn main() {}
