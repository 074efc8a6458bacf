// Rule: registered memory cannot be read inside of the scope: a device may be writing it.
// Instead: read it when the scope is over.
//~ E0502
//~ right: pass/scope.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: &DeviceBuffer<f32>, out: &mut [f32]) -> Result<(), Error> {
    ctx.scope(|s| {
        let mut there = s.register(out)?;
        dev.enqueue_copy_to(&mut there)?;
        println!("{:?}", out.first());
        dev.enqueue_copy_to(&mut there)?;
        Ok(())
    })
}

fn main() {}
