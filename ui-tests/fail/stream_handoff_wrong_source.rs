// Rule: the stream that has a buffer hands it off.
// Instead: `up.handoff(dev, &compute)`: from is the receiver, to the argument.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(
    up: &DeviceContext<Upload>,
    compute: &DeviceContext<Compute>,
    dev: DeviceBuffer<f32, Upload>,
) -> Result<(), Error> {
    let dev = compute.handoff(dev, up)?;
    Ok(())
}

fn main() {}
