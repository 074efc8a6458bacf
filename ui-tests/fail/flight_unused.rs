// Rule: memory in flight is not let go by accident.
// Instead: keep it and wait for it, or `drop` it to say that you do not want it back.
//~ -
//~ right: pass/flight.rs
#![deny(unused_must_use)]
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    dev.enqueue_copy_to(host)?;
    Ok(())
}

fn main() {}
