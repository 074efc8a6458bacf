// Rule: a symmetric buffer ends with its job.
// Instead: return `to_vec()?`, or copy it into a device buffer.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, shmem};

fn user() -> Result<(), Error> {
    let tables = shmem::launch(2, |job| job.create_buffer_zeroed::<f32>(8))?;
    Ok(())
}

fn main() {}
