// Rule: what a kernel writes is not what it reads.
// Instead: a kernel with one parameter, which works in place.
//~ E0502
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, mut dev: DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.saxpy(ctx, 2.0, &dev, &mut dev)?;
    Ok(())
}

fn main() {}
