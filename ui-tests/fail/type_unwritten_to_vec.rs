// Rule: device memory is written before the host reads it.
// Instead: `enqueue_create_buffer_zeroed`, or write it first.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<Vec<f32>, Error> {
    let dev = ctx.enqueue_create_buffer::<f32>(8)?;
    let values = dev.to_vec()?;
    Ok(Vec::new())
}

fn main() {}
