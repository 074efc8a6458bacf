// Rule: a recorded point is for waiting.
// Instead: keep it and `wait`.
//~ -
//~ right: pass/flight.rs
#![deny(unused_must_use)]
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

fn user(ctx: &DeviceContext, host: InFlight<HostBuffer<f32>>) -> Result<(), Error> {
    ctx.record(host)?;
    Ok(())
}

fn main() {}
