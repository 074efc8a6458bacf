// Rule: a buffer has no span to write while it has one to read.
// Instead: split a mutable span, and read one part with `as_span`.
//~ E0502
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let source = dev.as_span().slice(..4)?;
    let mut target = dev.as_span_mut().slice(4..)?;
    target.enqueue_copy_from(source)?;
    Ok(())
}

fn main() {}
