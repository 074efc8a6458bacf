// Rule: nobody else says how long a span is.
// Instead: a `DeviceSpan` or `DeviceSpanMut` field.
//~ E0277
//~ right: pass/passable.rs
use escrow::{DeviceSpan, SpanLen};

struct Mine<'a>(DeviceSpan<'a, f32>);

impl SpanLen for Mine<'_> { //~ E0277
    fn span_len(&self) -> usize {
        usize::MAX
    }
}

fn main() {}
