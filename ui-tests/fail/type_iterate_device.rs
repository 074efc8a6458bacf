// Rule: the host does not iterate over device memory.
// Instead: `for x in dev.to_vec()?`.
//~ E0277
//~ right: pass/types.rs
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    for x in &dev {}
}

fn main() {}
