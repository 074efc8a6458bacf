// Rule: memory in flight has no slice.
// Instead: wait first.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: &InFlight<HostBuffer<f32>>) -> &[f32] {
    host.as_span()
}

fn main() {}
