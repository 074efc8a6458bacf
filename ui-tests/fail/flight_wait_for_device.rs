// Rule: a wait gives back host memory, not device memory, which the host cannot use anyway.
// Instead: `ctx.synchronize(())` waits for everything; `dev.to_vec()` waits and reads.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user(ctx: &DeviceContext, dev: DeviceBuffer<f32>) -> Result<(), Error> {
    ctx.synchronize(dev)?;
    Ok(())
}

fn main() {}
