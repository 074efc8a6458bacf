// Rule: what a failed call hands back is not let go by accident.
// Instead: take `fault.value`, or `?`, which reports the error and drops the value.
//~ -
//~ right: pass/flight.rs
#![deny(unused_must_use)]
use escrow::{DeviceContext, HostBuffer, InFlight};

fn user(ctx: &DeviceContext, host: InFlight<HostBuffer<f32>>) {
    if let Err(fault) = ctx.synchronize(host) {
        fault.map(drop);
    }
}

fn main() {}
