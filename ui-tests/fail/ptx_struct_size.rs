// Rule: a struct that is passed by value has the size that it has in the PTX file.
// Instead: all the fields of the struct in the kernel's source.
//~ E0080
//~ right: pass/ptx.rs
use escrow::{DevicePassable, DeviceSpan, DeviceSpanMut, StreamTag};

#[derive(DevicePassable)]
struct Stencil<'a, S: StreamTag> {
    src: DeviceSpan<'a, f32, S>,
    dst: DeviceSpanMut<'a, f32, S>,
}

#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(p.dst))]
    safe fn stencil<S>(p: Stencil<'_, S>);
}

fn main() {}
