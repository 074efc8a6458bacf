// Rule: the host does not fill memory in flight.
// Instead: wait first, or `enqueue_fill`, which the stream does.
//~ E0277
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(mut host: InFlight<HostBuffer<f32>>) {
    host.fill(0.0);
}

fn main() {}
