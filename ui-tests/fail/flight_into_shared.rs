// Rule: memory in flight does not become shared.
// Instead: wait first.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) {
    let shared = host.into_shared();
}

fn main() {}
