// Rule: memory in flight cannot be iterated over.
// Instead: wait first.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) {
    for x in &host {
        println!("{x}");
    }
}

fn main() {}
