// Rule: what a kernel writes is not what it reads, in a struct neither.
// Instead: spans of two buffers, or of a split one.
//~ E0502
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, StreamTag};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(p.dst))]
    #[requires(p.src.len() == p.dst.len())]
    safe fn stencil<S>(p: Stencil<'_, S>);
}

#[derive(DevicePassable)]
struct Stencil<'a, S: StreamTag = Dyn> {
    src: DeviceSpan<'a, f32, S>,
    dst: DeviceSpanMut<'a, f32, S>,
}

fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    kernels.stencil(ctx, Stencil { src: dev.as_span(), dst: dev.as_span_mut() })?;
    Ok(())
}

fn main() {}
