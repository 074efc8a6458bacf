// Rule: mutable memory has one owner.
// Instead: share it read-only with `into_shared`, or copy it into a buffer of its own.
//~ E0277
//~ right: pass/ownership.rs
use escrow::HostBuffer;

fn user(host: HostBuffer<f32>) {
    let other = host.clone();
}

fn main() {}
