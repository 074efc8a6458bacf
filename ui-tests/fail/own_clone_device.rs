// Rule: mutable device memory has one owner.
// Instead: share it read-only with `into_shared`, or copy it with `enqueue_create_buffer_from(&dev)`.
//~ E0277
//~ right: pass/ownership.rs
use escrow::DeviceBuffer;

fn user(dev: DeviceBuffer<f32>) {
    let other = dev.clone();
}

fn main() {}
