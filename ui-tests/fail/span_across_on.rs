// Rule: a span of this stream does not live across `on`, which lends the buffer to another stream.
// Instead: take the span inside of the closure, or again after it.
//~ E0502
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(compute: &DeviceContext<Compute>, dev: &mut DeviceBuffer<f32, Upload>) -> Result<(), Error> {
    let span = dev.as_span();
    dev.on(compute, |there| there.enqueue_fill(1.0))?;
    println!("{}", span.len());
    Ok(())
}

fn main() {}
