// Rule: host memory is indexed as slices are.
// Instead: `host[i as usize]`.
//~ E0277
//~ right: pass/types.rs
use escrow::HostBuffer;

fn user(host: &HostBuffer<f32>, i: u32) -> f32 {
    host[i]
}

fn main() {}
