// Rule: an asynchronous copy does not borrow host memory.
// Instead: move the buffer in; the wait gives it back.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    dev.enqueue_copy_from(&host)?;
    Ok(())
}

fn main() {}
