// Rule: a buffer does not become shared while a span of it lives.
// Instead: take the span from the shared buffer.
//~ E0505
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error};

fn user(mut dev: DeviceBuffer<f32>) -> Result<(), Error> {
    let span = dev.as_span_mut();
    let shared = dev.into_shared()?;
    println!("{} {}", span.len(), shared.len());
    Ok(())
}

fn main() {}
