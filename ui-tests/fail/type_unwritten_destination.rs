// Rule: memory that nothing has written receives by itself, and comes back as written.
// Instead: `let dst = raw.enqueue_copy_from(&dev)?;`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &DeviceBuffer<f32>) -> Result<(), Error> {
    let mut raw = ctx.enqueue_create_buffer::<f32>(8)?;
    dev.enqueue_copy_to(&mut raw)?;
    Ok(())
}

fn main() {}
