// Rule: lent memory is not handed to another stream.
// Instead: lend it in a scope of that stream.
//~ E0277
//~ right: pass/scope.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext, other: &DeviceContext, values: &[f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        ctx.handoff(s.lend(values), other)?;
        Ok(())
    })
}

fn main() {}
