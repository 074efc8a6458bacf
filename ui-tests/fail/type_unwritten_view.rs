// Rule: looking at memory as another type does not write it.
// Instead: write it first.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let raw = ctx.enqueue_create_buffer::<f32>(8)?;
    let words = raw.as_span().view::<u32>()?.to_vec()?;
    Ok(())
}

fn main() {}
