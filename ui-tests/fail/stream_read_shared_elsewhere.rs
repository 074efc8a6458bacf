// Rule: a handle to shared device memory is read on its own stream.
// Instead: `let there = shared.share_with(&compute)?;` makes one for the other stream.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, Error, SharedDeviceBuffer};

escrow::streams! { Upload, Compute }

fn user(shared: &SharedDeviceBuffer<f32, Upload>, dev: &mut DeviceBuffer<f32, Compute>) -> Result<(), Error> {
    dev.enqueue_copy_from(shared)?;
    Ok(())
}

fn main() {}
