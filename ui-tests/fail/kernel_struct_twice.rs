// Rule: a struct with spans to write is passed by value, to one launch.
// Instead: make it again, with `reborrow`ed spans.
//~ E0382
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

fn user(kernels: &Kernels, ctx: &DeviceContext, src: &DeviceBuffer<f32>, dst: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let p = Stencil { src: src.as_span(), dst: dst.as_span_mut() };
    kernels.stencil(ctx, p)?;
    kernels.stencil(ctx, p)?;
    Ok(())
}

fn main() {}
