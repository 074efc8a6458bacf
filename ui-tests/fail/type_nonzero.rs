// Rule: `NonZero` is not an element: a device could write zero.
// Instead: the plain integer.
//~ E0277
//~ right: pass/types.rs
use std::num::NonZero;

use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let ids = ctx.create_host_buffer::<NonZero<u32>>(8)?;
    Ok(())
}

fn main() {}
