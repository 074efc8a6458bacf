// Rule: the pointer of memory in flight cannot be taken.
// Instead: wait first.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) {
    let ptr = host.take_ptr();
}

fn main() {}
