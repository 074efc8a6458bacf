// Rule: device memory is written before it becomes shared.
// Instead: write it first; nobody can afterwards.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let raw = ctx.enqueue_create_buffer::<f32>(8)?;
    let shared = raw.into_shared()?;
    Ok(())
}

fn main() {}
