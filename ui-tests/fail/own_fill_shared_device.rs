// Rule: shared device memory is read-only.
// Instead: `try_unshare` it when the other handles are gone.
//~ E0599
//~ right: pass/ownership.rs
use escrow::{Error, SharedDeviceBuffer};

fn user(mut shared: SharedDeviceBuffer<f32>) -> Result<(), Error> {
    shared.enqueue_fill(1.0)
}

fn main() {}
