// Rule: a kernel takes no raw pointer that nobody vouched for.
// Instead: a span, or `unsafe { ptr.trust() }`.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{DeviceContext, DevicePtr, Error, TrustedPtr};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    unsafe fn scale(factor: f32, data: TrustedPtr<f32>, n: u32);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, data: DevicePtr<f32>) -> Result<(), Error> {
    unsafe { kernels.scale(ctx, (1, 8), 2.0, data, 8) }?;
    Ok(())
}

fn main() {}
