// Rule: an unsigned element has no sign.
// Instead: `u8::MAX`, or a buffer of `i8`.
//~ E0600
//~ right: pass/types.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<u8>) -> Result<(), Error> {
    dev.enqueue_fill(-1)
}

fn main() {}
