// Rule: memory that was written goes into an `out` parameter by `&mut`.
// Instead: `&mut out`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn square(x: &[f32], #[out(each)] out: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, x: &DeviceBuffer<f32>, out: DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.square(ctx, x, out)?;
    Ok(())
}

fn main() {}
