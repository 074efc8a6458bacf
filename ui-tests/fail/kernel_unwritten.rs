// Rule: a kernel reads memory that was written.
// Instead: `enqueue_fill` it, copy into it, or let a kernel write it as `out`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, y: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let x = ctx.enqueue_create_buffer::<f32>(8)?;
    kernels.saxpy(ctx, 2.0, &x, y)?;
    Ok(())
}

fn main() {}
