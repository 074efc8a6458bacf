// Rule: a context that moved is used under its new name.
// Instead: `ctx.clone()`, which is the same stream.
//~ E0382
//~ right: pass/ownership.rs
use escrow::{DeviceContext, Error};

fn user(ctx: DeviceContext) -> Result<(), Error> {
    let moved = ctx;
    ctx.synchronize(())?;
    drop(moved);
    Ok(())
}

fn main() {}
