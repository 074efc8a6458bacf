// Rule: a kernel has to know the layout of an element.
// Instead: `#[repr(C)]`.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
struct Sample {
    value: f32,
}

fn main() {}
