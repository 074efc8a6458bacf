// Rule: what a kernel writes is borrowed mutably.
// Instead: `&mut dev`.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, &dev)?;
    Ok(())
}

fn main() {}
