// Rule: nothing but the call says what a new buffer holds.
// Instead: `enqueue_create_buffer_zeroed::<f32>(8)`.
//~ E0283
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let dev = ctx.enqueue_create_buffer_zeroed(8)?;
    Ok(())
}

fn main() {}
