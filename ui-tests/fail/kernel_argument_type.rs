// Rule: a scalar has the type of the declaration.
// Instead: `2.0`.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, 2, dev)?;
    Ok(())
}

fn main() {}
