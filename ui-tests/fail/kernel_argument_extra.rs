// Rule: a kernel is called with the arguments of its declaration and no more.
// Instead: leave out the length: `len_of` fills it in.
//~ E0061
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, dev, 8)?;
    Ok(())
}

fn main() {}
