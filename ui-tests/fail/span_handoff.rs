// Rule: a buffer is not handed off while a span of it lives.
// Instead: take the span from the buffer that `handoff` returns.
//~ E0505
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(
    up: &DeviceContext<Upload>,
    compute: &DeviceContext<Compute>,
    dev: DeviceBuffer<f32, Upload>,
) -> Result<(), Error> {
    let span = dev.as_span();
    let there = up.handoff(dev, compute)?;
    println!("{} {}", span.len(), there.len());
    Ok(())
}

fn main() {}
