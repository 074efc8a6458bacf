// Rule: lent memory does not leave the scope in its result.
// Instead: copy inside of the scope; lend again in another one.
//~ -
//~ right: pass/scope.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let values = vec![0.0f32; 8];
    let _span = ctx.scope(|s| Ok(s.lend(&values)))?;
    Ok(())
}

fn main() {}
