// Rule: host memory is not passed to a kernel.
// Instead: copy it to the device, and hold a span of that.
//~ E0277
//~ right: pass/passable.rs
use escrow::{DevicePassable, HostBuffer};

#[derive(DevicePassable)]
struct Params {
    table: HostBuffer<f32>,
}

fn main() {}
