// Rule: a symmetric buffer ends with its job.
// Instead: keep `to_vec()?`.
//~ E0521
//~ right: pass/shmem.rs
use std::cell::RefCell;

use escrow::{Error, ShmemBuffer, shmem};

thread_local! {
    static KEPT: RefCell<Option<ShmemBuffer<'static, f32>>> = const { RefCell::new(None) };
}

fn user() -> Result<(), Error> {
    shmem::launch(2, |job| {
        KEPT.set(Some(job.create_buffer_zeroed(8)?));
        Ok(())
    })?;
    Ok(())
}

fn main() {}
