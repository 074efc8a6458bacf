// Rule: memory that a stream reads is not written in the same scope.
// Instead: use a second scope.
//~ E0506
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>, values: &mut [f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        dev.enqueue_copy_from(s.lend(values))?;
        values[0] = 1.0;
        Ok(())
    })
}

fn main() {}
