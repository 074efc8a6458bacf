// Rule: both sides of a copy are on one stream.
// Instead: `let there = compute.handoff(there, &up)?;` first.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, Error};

escrow::streams! { Upload, Compute }

fn user(dev: &DeviceBuffer<f32, Upload>, there: &mut DeviceBuffer<f32, Compute>) -> Result<(), Error> {
    dev.enqueue_copy_to(there)?;
    Ok(())
}

fn main() {}
