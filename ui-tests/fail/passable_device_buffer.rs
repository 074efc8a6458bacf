// Rule: a passable struct holds spans, not buffers.
// Instead: `DeviceSpan<'a, f32, S>`.
//~ E0277
//~ right: pass/passable.rs
use escrow::{DeviceBuffer, DevicePassable};

#[derive(DevicePassable)]
struct Params {
    table: DeviceBuffer<f32>,
}

fn main() {}
