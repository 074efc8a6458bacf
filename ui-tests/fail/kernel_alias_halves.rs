// Rule: two parts that a launch writes do not overlap.
// Instead: `dev.as_span_mut().split_at(n)?`.
//~ E0499
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(a))]
    safe fn swap(a: &mut [f32], b: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let mut low = dev.as_span_mut().slice(..5)?;
    let mut high = dev.as_span_mut().slice(3..)?;
    kernels.swap(ctx, &mut low, &mut high)?;
    Ok(())
}

fn main() {}
