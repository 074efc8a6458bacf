// Rule: a copy converts nothing: both sides have the same elements.
// Instead: create the buffer with that element type, or look at it through `view`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &DeviceBuffer<f32>, host: HostBuffer<f64>) -> Result<(), Error> {
    let host = dev.enqueue_copy_to(host)?;
    Ok(())
}

fn main() {}
