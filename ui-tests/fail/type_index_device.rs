// Rule: the host does not read device memory.
// Instead: copy it to the host, or `dev.to_vec()?`.
//~ E0277
//~ right: pass/types.rs
use escrow::DeviceBuffer;

fn user(dev: &DeviceBuffer<f32>) -> f32 {
    dev[0]
}

fn main() {}
