// Rule: that memory was written is a promise.
// Instead: write it.
//~ E0133
//~ right: pass/types.rs
use escrow::{DeviceContext, DeviceBuffer, Error};

fn user(ctx: &DeviceContext) -> Result<DeviceBuffer<f32>, Error> {
    let raw = ctx.enqueue_create_buffer::<f32>(8)?;
    Ok(raw.assume_init())
}

fn main() {}
