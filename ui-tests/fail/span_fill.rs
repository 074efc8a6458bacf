// Rule: a buffer is not filled while a span of it lives.
// Instead: fill it before, or take the span again after.
//~ E0502
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let head = dev.as_span().slice(..4)?;
    dev.enqueue_fill(1.0)?;
    println!("{}", head.len());
    Ok(())
}

fn main() {}
