// Rule: a slice that was lent for reading is not written.
// Instead: `s.lend_mut(&mut slice)`.
//~ E0277
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &DeviceBuffer<f32>, out: &mut [f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend(out))?;
        Ok(())
    })
}

fn main() {}
