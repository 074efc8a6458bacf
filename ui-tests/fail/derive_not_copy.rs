// Rule: an element is `Copy`.
// Instead: `#[derive(Clone, Copy, DType)]`.
//~ E0277
//~ right: pass/elements.rs
use escrow::DType;

#[derive(DType)]
#[repr(C)]
struct Sample {
    value: f32,
}

fn main() {}
