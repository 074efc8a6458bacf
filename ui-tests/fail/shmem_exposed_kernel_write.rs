// Rule: a kernel does not write exposed memory.
// Instead: `let mine = job.barrier_all(open)?;` first.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{Error, Exposed, ShmemBuffer, ShmemContext};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn add(x: &[f32], y: &mut [f32]);
    #[launch(cover(y))]
    safe fn ones(#[out(each)] y: &mut [f32]);
}

fn user(
    k: &Kernels,
    job: &ShmemContext,
    x: &ShmemBuffer<'_, f32>,
    open: &mut Exposed<ShmemBuffer<'_, f32>>,
) -> Result<(), Error> {
    k.add(job.context(), x, open)
}

fn main() {}
