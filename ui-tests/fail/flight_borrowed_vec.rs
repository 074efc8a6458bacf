// Rule: an asynchronous copy does not borrow a `Vec`.
// Instead: `copy_from_slice`, which waits, or lend it in a `scope`.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>, values: &Vec<f32>) -> Result<(), Error> {
    dev.enqueue_copy_from(values)?;
    Ok(())
}

fn main() {}
