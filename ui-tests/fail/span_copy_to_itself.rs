// Rule: the source and the destination of a copy are not the same memory.
// Instead: copy between two buffers, or between two halves of a split mutable span.
//~ E0502
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    dev.enqueue_copy_to(&mut *dev)?;
    Ok(())
}

fn main() {}
