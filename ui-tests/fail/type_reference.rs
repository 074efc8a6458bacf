// Rule: a reference is not an element: it means nothing to a device.
// Instead: store indices, or the values themselves.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let pointers = ctx.create_host_buffer::<&'static f32>(8)?;
    Ok(())
}

fn main() {}
