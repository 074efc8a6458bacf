// Rule: a span does not outlive a buffer that no variable holds.
// Instead: give the buffer a variable first.
//~ E0716
//~ right: pass/spans.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<usize, Error> {
    let span = ctx.enqueue_create_buffer_zeroed::<f32>(8)?.as_span();
    Ok(span.len())
}

fn main() {}
