// Rule: the spans of a struct are of one stream.
// Instead: `handoff` one of the buffers first.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, StreamTag};

escrow::streams! { Upload, Compute }

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

fn user(
    kernels: &Kernels,
    compute: &DeviceContext<Compute>,
    src: &DeviceBuffer<f32, Upload>,
    dst: &mut DeviceBuffer<f32, Compute>,
) -> Result<(), Error> {
    kernels.stencil(compute, Stencil { src: src.as_span(), dst: dst.as_span_mut() })?;
    Ok(())
}

fn main() {}
