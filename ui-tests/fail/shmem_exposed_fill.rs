// Rule: exposed memory is not this PE's to read or write.
// Instead: `let mine = job.barrier_all(open)?;` first, on all PEs.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer};

fn user(open: &mut Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    open.enqueue_fill(1.0)?;
    Ok(())
}

fn main() {}
