// Rule: a wait gives back the memory of its own stream.
// Instead: wait on that stream, `host.synchronize()?`.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

escrow::streams! { Upload, Compute }

fn user(compute: &DeviceContext<Compute>, host: InFlight<HostBuffer<f32, Upload>>) -> Result<(), Error> {
    let host = compute.synchronize(host)?;
    Ok(())
}

fn main() {}
