// Rule: arguments stand in the order of the declaration.
// Instead: `saxpy(ctx, a, &x, &mut y)`.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.saxpy(ctx, 2.0, y, x)?;
    Ok(())
}

fn main() {}
