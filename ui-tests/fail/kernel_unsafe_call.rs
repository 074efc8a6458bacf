// Rule: a kernel that was declared `unsafe fn` is `unsafe` to launch: its caller picks the geometry.
// Instead: see to it that every thread stays inside of the memory, and say so in an `unsafe` block.
//~ E0133
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    unsafe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.scale(ctx, (1, 8), 2.0, dev)?;
    Ok(())
}

fn main() {}
