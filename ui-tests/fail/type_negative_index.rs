// Rule: an index is not negative.
// Instead: `host[host.len() - 1]` is the last element.
//~ -
//~ right: pass/types.rs
use escrow::HostBuffer;

fn user(host: &HostBuffer<f32>) -> f32 {
    host[-1]
}

fn main() {}
