// Rule: one wait serves values of one stream.
// Instead: wait for each on its own stream, or `handoff` one first.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

escrow::streams! { Upload, Compute }

fn user(
    compute: &DeviceContext<Compute>,
    a: InFlight<HostBuffer<f32, Compute>>,
    b: InFlight<HostBuffer<f32, Upload>>,
) -> Result<(), Error> {
    let (a, b) = compute.synchronize((a, b))?;
    Ok(())
}

fn main() {}
