// Rule: lent memory is not waited for: the scope waits at its end.
// Instead: use it when the scope is over.
//~ E0277
//~ right: pass/scope.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext, values: &mut [f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        ctx.synchronize(s.lend_mut(values))?;
        Ok(())
    })
}

fn main() {}
