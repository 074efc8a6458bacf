// Rule: an element has no padding: a copy would show what lay there before.
// Instead: reorder the fields, or fill the gap with a field.
//~ E0080
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Sample {
    kind: u8,
    value: f32,
}

fn main() {}
