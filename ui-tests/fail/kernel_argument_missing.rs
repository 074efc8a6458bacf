// Rule: a kernel is called with all of its arguments.
// Instead: the arguments of its declaration, behind the context.
//~ E0061
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, dev)?;
    Ok(())
}

fn main() {}
