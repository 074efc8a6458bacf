// Rule: a function does not return a span of a buffer that it owns.
// Instead: return the buffer, or take it as `&DeviceBuffer`.
//~ E0515
//~ right: pass/spans.rs
use escrow::{DeviceContext, DeviceSpan, Error};

fn user(ctx: &DeviceContext) -> Result<DeviceSpan<'_, f32>, Error> {
    let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
    Ok(dev.as_span())
}

fn main() {}
