// Rule: only a wait turns memory in flight into memory of the host.
// Instead: `let host = ctx.synchronize(host)?;`.
//~ E0308
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) -> HostBuffer<f32> {
    host
}

fn main() {}
