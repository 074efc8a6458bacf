// Rule: the methods of slices are not for memory in flight.
// Instead: wait first.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) -> Option<f32> {
    host.first().copied()
}

fn main() {}
