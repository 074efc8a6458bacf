// Rule: a buffer is created from memory of its own stream.
// Instead: `handoff` the source first, or share it with `into_shared` and `share_with`.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(compute: &DeviceContext<Compute>, dev: &DeviceBuffer<f32, Upload>) -> Result<(), Error> {
    let copy = compute.enqueue_create_buffer_from(dev)?;
    Ok(())
}

fn main() {}
