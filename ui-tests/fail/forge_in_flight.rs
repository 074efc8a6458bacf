// Rule: only an operation puts memory into flight, and only a wait takes it out.
// Instead: enqueue something.
//~ E0616
//~ right: pass/flight.rs
use escrow::{HostBuffer, InFlight};

fn user(host: InFlight<HostBuffer<f32>>) {
    let memory = host.region;
}

fn main() {}
