// Rule: symmetric memory stays on the job's stream.
// Instead: copy it into a device buffer, and hand that off.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DeviceContext, Error, ShmemBuffer, ShmemContext};

escrow::streams! { Compute }

fn user(job: &ShmemContext, table: ShmemBuffer<'_, f32>, compute: &DeviceContext<Compute>) -> Result<(), Error> {
    let table = job.context().handoff(table, compute)?;
    Ok(())
}

fn main() {}
