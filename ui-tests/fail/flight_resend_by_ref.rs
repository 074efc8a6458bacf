// Rule: memory in flight goes into the next operation by value.
// Instead: move it in and keep what comes back.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error, HostBuffer, InFlight};

fn user(dev: &mut DeviceBuffer<f32>, host: InFlight<HostBuffer<f32>>) -> Result<(), Error> {
    dev.enqueue_copy_from(&host)?;
    Ok(())
}

fn main() {}
