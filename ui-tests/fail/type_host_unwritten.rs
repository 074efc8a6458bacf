// Rule: host memory is always initialised, so there is no `MaybeUninit` of it.
// Instead: `create_host_buffer::<f32>`.
//~ E0277
//~ right: pass/types.rs
use std::mem::MaybeUninit;

use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let host = ctx.create_host_buffer::<MaybeUninit<f32>>(8)?;
    Ok(())
}

fn main() {}
