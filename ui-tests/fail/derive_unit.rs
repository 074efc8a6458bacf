// Rule: an element has a size.
// Instead: give it a field.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Nothing;

fn main() {}
