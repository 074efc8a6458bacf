// Rule: lent memory does not leave the scope through a variable.
// Instead: copy inside of the scope; lend again in another one.
//~ E0521
//~ right: pass/scope.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext, values: &[f32]) -> Result<(), Error> {
    let mut kept = None;
    ctx.scope(|s| {
        kept = Some(s.lend(values));
        Ok(())
    })?;
    println!("{kept:?}");
    Ok(())
}

fn main() {}
