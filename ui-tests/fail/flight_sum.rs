// Rule: memory in flight cannot be summed up.
// Instead: wait first.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) -> f32 {
    host.iter().sum()
}

fn main() {}
