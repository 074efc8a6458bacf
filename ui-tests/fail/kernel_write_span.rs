// Rule: a kernel does not write through a span to read.
// Instead: `&mut dev.as_span_mut()`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceContext, DeviceSpan, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, mut span: DeviceSpan<'_, f32>) -> Result<(), Error> {
    kernels.scale(ctx, 2.0, &mut span)?;
    Ok(())
}

fn main() {}
