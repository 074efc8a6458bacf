// Rule: a buffer has the elements of the declaration.
// Instead: a buffer of `f32`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f64>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, dev)?;
    Ok(())
}

fn main() {}
