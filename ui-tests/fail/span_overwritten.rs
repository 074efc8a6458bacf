// Rule: a variable does not get another buffer while a span of the first one lives.
// Instead: let the span end before, or give the other buffer a variable of its own.
//~ E0506
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, mut dev: DeviceBuffer<f32>) -> Result<(), Error> {
    let head = dev.as_span().slice(..4)?;
    dev = ctx.enqueue_create_buffer_zeroed(8)?;
    println!("{} {}", head.len(), dev.len());
    Ok(())
}

fn main() {}
