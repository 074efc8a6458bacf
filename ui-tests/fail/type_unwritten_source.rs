// Rule: device memory is written before it is the source of a copy.
// Instead: `let raw = raw.enqueue_fill(0.0)?;` first.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    let raw = ctx.enqueue_create_buffer::<f32>(8)?;
    dev.enqueue_copy_from(&raw)?;
    Ok(())
}

fn main() {}
