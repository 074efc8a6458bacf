// Rule: what is lent is not gone before the scope ends.
// Instead: give it a variable before the scope.
//~ E0716
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>, n: usize) -> Result<(), Error> {
    ctx.scope(|s| {
        dev.enqueue_copy_from(s.lend(&vec![1.0; n]))?;
        Ok(())
    })
}

fn main() {}
