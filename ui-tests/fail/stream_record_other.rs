// Rule: a stream records the end of its own work.
// Instead: record on the stream that uses the memory.
//~ E0277
//~ right: pass/streams.rs
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

escrow::streams! { Upload, Compute }

fn user(compute: &DeviceContext<Compute>, host: InFlight<HostBuffer<f32, Upload>>) -> Result<(), Error> {
    let recorded = compute.record(host)?;
    Ok(())
}

fn main() {}
