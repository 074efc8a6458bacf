// Rule: memory in flight has one owner.
// Instead: wait for it, then share it with `into_shared`.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) {
    let other = host.clone();
}

fn main() {}
