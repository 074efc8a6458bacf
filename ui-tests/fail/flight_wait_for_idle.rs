// Rule: there is nothing to wait for on memory that the host owns.
// Instead: just use it.
//~ E0277
//~ right: pass/flight.rs
use escrow::{DeviceContext, Error, HostBuffer};

fn user(ctx: &DeviceContext, host: HostBuffer<f32>) -> Result<(), Error> {
    let host = ctx.synchronize(host)?;
    Ok(())
}

fn main() {}
