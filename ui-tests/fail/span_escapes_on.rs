// Rule: a span that was taken on another stream does not leave the closure of `on`.
// Instead: take it again after, on the stream that has the buffer then.
//~ -
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn user(compute: &DeviceContext<Compute>, dev: &mut DeviceBuffer<f32, Upload>) -> Result<(), Error> {
    let span = dev.on(compute, |there| Ok(there.as_span()))?;
    println!("{}", span.len());
    Ok(())
}

fn main() {}
