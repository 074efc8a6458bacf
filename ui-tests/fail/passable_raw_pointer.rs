// Rule: a raw pointer is passed only when somebody vouches for it.
// Instead: a span, or `unsafe { ptr.trust() }` and `TrustedPtr`.
//~ E0277
//~ right: pass/passable.rs
use escrow::{DevicePassable, DevicePtr};

#[derive(DevicePassable)]
struct Params {
    table: DevicePtr<f32>,
}

fn main() {}
