// Rule: two mutable spans of one buffer do not overlap.
// Instead: split one, `dev.as_span_mut().split_at(n)?`.
//~ E0499
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let low = dev.as_span_mut().slice(..5)?;
    let high = dev.as_span_mut().slice(3..)?;
    println!("{} {}", low.len(), high.len());
    Ok(())
}

fn main() {}
