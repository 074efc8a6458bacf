// Rule: lent memory cannot be read inside of the scope.
// Instead: read it when the scope is over.
//~ E0502
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &DeviceBuffer<f32>) -> Result<(), Error> {
    let mut out = [0.0f32; 8];
    ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut out))?;
        println!("{}", out[0]);
        Ok(())
    })
}

fn main() {}
