// Rule: `PodElement` is for types that are plain data, which `bool` is not.
// Instead: `Bool8`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error, PodElement};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let flags = ctx.create_host_buffer::<PodElement<bool>>(8)?;
    Ok(())
}

fn main() {}
