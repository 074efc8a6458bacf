// Rule: that a kernel may use a pointer is a promise.
// Instead: pass a span.
//~ E0133
//~ right: pass/passable.rs
use escrow::{DevicePtr, TrustedPtr};

fn user(ptr: DevicePtr<f32>) -> TrustedPtr<f32> {
    ptr.trust()
}

fn main() {}
