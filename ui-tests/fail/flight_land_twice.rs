// Rule: a wait gives memory back once.
// Instead: wait for each value once.
//~ E0382
//~ right: pass/flight.rs
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

fn user(ctx: &DeviceContext, host: InFlight<HostBuffer<f32>>) -> Result<(), Error> {
    ctx.synchronize((host, host))?;
    Ok(())
}

fn main() {}
