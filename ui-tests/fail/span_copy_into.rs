// Rule: a buffer is not copied into while a span of it lives.
// Instead: copy before, or take the span again after.
//~ E0502
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error, HostBuffer};

fn user(dev: &mut DeviceBuffer<f32>, host: HostBuffer<f32>) -> Result<(), Error> {
    let head = dev.as_span().slice(..4)?;
    let flight = dev.enqueue_copy_from(host)?;
    println!("{} {}", head.len(), flight.len());
    Ok(())
}

fn main() {}
