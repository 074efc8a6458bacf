// Rule: memory is lent for writing once.
// Instead: `split_at_mut` it and lend the parts.
//~ E0499
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &DeviceBuffer<f32>, out: &mut [f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut *out))?;
        dev.enqueue_copy_to(s.lend_mut(&mut *out))?;
        Ok(())
    })
}

fn main() {}
