// Rule: where the declaration computes the launch, the caller does not pick one.
// Instead: leave it out.
//~ E0061
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, (1, 8), 2.0, dev)?;
    Ok(())
}

fn main() {}
