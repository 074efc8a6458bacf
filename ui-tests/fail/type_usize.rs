// Rule: `usize` is not an element: its width is not the same everywhere.
// Instead: `u64` or `u32`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let indices = ctx.create_host_buffer::<usize>(8)?;
    Ok(())
}

fn main() {}
