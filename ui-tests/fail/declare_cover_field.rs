// Rule: `cover` names a span field.
// Instead: the path of a `DeviceSpan` or `DeviceSpanMut`.
//~ E0277
//~ right: pass/kernels.rs
use escrow::DevicePassable;

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(p.weight))]
    safe fn scale(p: Params, data: &mut [f32]);
}

#[derive(Clone, Copy, DevicePassable)]
struct Params {
    weight: f32,
}

fn main() {}
