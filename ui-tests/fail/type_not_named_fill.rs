// Rule: a fill does not say what a buffer holds.
// Instead: `enqueue_create_buffer_zeroed::<f32>(8)`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let mut dev = ctx.enqueue_create_buffer_zeroed(8)?;
    dev.enqueue_fill(1.0f32)?;
    Ok(())
}

fn main() {}
