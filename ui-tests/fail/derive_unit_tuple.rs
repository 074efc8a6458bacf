// Rule: an element has a size; a tuple struct without fields has none.
// Instead: leave the field or parameter out.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Nothing();

fn main() {}
