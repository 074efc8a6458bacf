// Rule: an element has a size.
// Instead: leave the field of no elements out, or give it some.
//~ E0080
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Nothing {
    none: [f32; 0],
}

fn main() {}
