// Rule: a span does not outlive its buffer.
// Instead: keep the buffer as long as the span.
//~ E0597
//~ right: pass/spans.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let span;
    {
        let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
        span = dev.as_span();
    }
    println!("{}", span.len());
    Ok(())
}

fn main() {}
