// Rule: the end of lent memory's use is not recorded: the scope waits at its end.
// Instead: use it when the scope is over.
//~ E0277
//~ right: pass/scope.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext, values: &[f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        ctx.record(s.lend(values))?;
        Ok(())
    })
}

fn main() {}
