// Rule: memory that nothing has written goes into an `out` parameter by value, and comes back written.
// Instead: `let out = kernels.square(ctx, x, out)?;`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn square(x: &[f32], #[out(each)] out: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, x: &DeviceBuffer<f32>) -> Result<(), Error> {
    let mut out = ctx.enqueue_create_buffer::<f32>(8)?;
    kernels.square(ctx, x, &mut out)?;
    Ok(())
}

fn main() {}
