// Rule: a dropped buffer cannot be used.
// Instead: drop it after its last use; the memory is freed in stream order anyway.
//~ E0382
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, Error};

fn user(mut dev: DeviceBuffer<f32>) -> Result<(), Error> {
    drop(dev);
    dev.enqueue_fill(0.0)
}

fn main() {}
