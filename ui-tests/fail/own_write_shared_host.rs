// Rule: shared host memory is read-only.
// Instead: write before `into_shared`, or after `try_unshare`.
//~ E0594
//~ right: pass/ownership.rs
use escrow::SharedHostBuffer;

fn user(shared: SharedHostBuffer<f32>) {
    shared[0] = 1.0;
}

fn main() {}
