// Rule: a mutable span is not copied: what it is given to has it.
// Instead: `span.reborrow()` for a while, or pass `&mut span`.
//~ E0382
//~ right: pass/spans.rs
use escrow::{DeviceBuffer, DeviceSpanMut, Error};

fn user(src: &DeviceBuffer<f32>, mut span: DeviceSpanMut<'_, f32>) -> Result<(), Error> {
    src.enqueue_copy_to(span)?;
    span.enqueue_fill(1.0)
}

fn main() {}
