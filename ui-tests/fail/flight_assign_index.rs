// Rule: memory in flight cannot be written.
// Instead: wait first, `let mut host = ctx.synchronize(host)?;`.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    let mut host = dev.enqueue_copy_from(host)?;
    host[0] = 1.0;
    Ok(())
}

fn main() {}
