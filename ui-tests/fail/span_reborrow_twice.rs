// Rule: a reborrowed span has the memory to itself.
// Instead: let the first one end, or split the span.
//~ E0499
//~ right: pass/spans.rs
use escrow::{DeviceSpanMut, Error};

fn user(mut span: DeviceSpanMut<'_, f32>) -> Result<(), Error> {
    let mut first = span.reborrow();
    let mut second = span.reborrow();
    first.enqueue_fill(1.0)?;
    second.enqueue_fill(2.0)
}

fn main() {}
