// Rule: a slice of host memory is not passed to a kernel.
// Instead: copy it to the device first.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, x: &[f32], y: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.saxpy(ctx, 2.0, x, y)?;
    Ok(())
}

fn main() {}
