// Rule: a put reads device memory, and no slice.
// Instead: copy it into a device buffer first, `copy_from_slice`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

fn user(job: &ShmemContext, src: &[f32], open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
    job.put(&src, open, job.next())
}

fn main() {}
