// Rule: a buffer does not change its stream while a span of it lives.
// Instead: take the span from the buffer that `reassign_ownership_to` returns.
//~ E0505
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(other: &DeviceContext, dev: DeviceBuffer<f32>) -> Result<(), Error> {
    let span = dev.as_span();
    let there = dev.reassign_ownership_to(other)?;
    println!("{} {}", span.len(), there.len());
    Ok(())
}

fn main() {}
