// Rule: what is lent lives longer than the scope.
// Instead: declare it before the scope.
//~ E0597
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    ctx.scope(|s| {
        let values = vec![0.0f32; 8];
        dev.enqueue_copy_from(s.lend(&values))?;
        Ok(())
    })
}

fn main() {}
