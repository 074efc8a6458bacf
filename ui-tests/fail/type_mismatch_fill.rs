// Rule: a fill value has the type of the elements.
// Instead: `1.0`.
//~ E0308
//~ right: pass/types.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    dev.enqueue_fill(1)
}

fn main() {}
