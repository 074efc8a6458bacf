// Rule: `char` is not an element: most numbers are no character.
// Instead: `u32`, and `char::from_u32` on the host.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let text = ctx.create_host_buffer::<char>(8)?;
    Ok(())
}

fn main() {}
