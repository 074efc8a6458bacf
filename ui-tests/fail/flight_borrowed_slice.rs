// Rule: an asynchronous copy does not write a borrowed slice.
// Instead: `copy_to_slice`, which waits, or lend it in a `scope`.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &DeviceBuffer<f32>, out: &mut [f32]) -> Result<(), Error> {
    dev.enqueue_copy_to(out)?;
    Ok(())
}

fn main() {}
