// Rule: `bool` is not an element: a device could write a byte that is neither 0 nor 1.
// Instead: `Bool8`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let flags = ctx.enqueue_create_buffer_zeroed::<bool>(8)?;
    Ok(())
}

fn main() {}
