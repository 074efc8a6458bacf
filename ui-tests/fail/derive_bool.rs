// Rule: every pattern of bits is a valid element, and a `bool` has two.
// Instead: `Bool8`.
//~ E0277
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Cell {
    wall: bool,
}

fn main() {}
