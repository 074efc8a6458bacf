// Rule: memory in flight is on one stream.
// Instead: wait for it, or `let host = up.handoff(host, &compute)?;`.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, Error, HostBuffer, InFlight};

escrow::streams! { Upload, Compute }

fn user(dev: &mut DeviceBuffer<f32, Compute>, host: InFlight<HostBuffer<f32, Upload>>) -> Result<(), Error> {
    let host = dev.enqueue_copy_from(host)?;
    Ok(())
}

fn main() {}
