// Rule: memory in flight cannot be printed.
// Instead: wait first. (`{:?}` prints its type and length.)
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) {
    println!("{host}");
}

fn main() {}
