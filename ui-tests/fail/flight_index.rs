// Rule: memory in flight cannot be read.
// Instead: wait first, `let host = ctx.synchronize(host)?;`.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<f32, Error> {
    let host = dev.enqueue_copy_to(host)?;
    Ok(host[0])
}

fn main() {}
