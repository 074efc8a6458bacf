// Rule: an asynchronous copy does not take a `Vec`, whose memory is not pinned.
// Instead: `create_host_buffer_from(&values)`, `copy_from_slice`, or a `scope`.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>, values: Vec<f32>) -> Result<(), Error> {
    dev.enqueue_copy_from(values)?;
    Ok(())
}

fn main() {}
