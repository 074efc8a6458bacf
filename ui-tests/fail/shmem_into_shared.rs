// Rule: symmetric memory is not shared with other streams.
// Instead: copy it into a device buffer, and share that.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, ShmemBuffer};

fn user(table: ShmemBuffer<'_, f32>) -> Result<(), Error> {
    let shared = table.into_shared()?;
    Ok(())
}

fn main() {}
