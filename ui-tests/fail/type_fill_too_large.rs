// Rule: a fill value fits the elements; none is cut off.
// Instead: a value from 0 to 255, or `as u8` where cutting off is meant.
//~ -
//~ right: pass/types.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<u8>) -> Result<(), Error> {
    dev.enqueue_fill(300)
}

fn main() {}
