// Rule: `DType` is not for enums.
// Instead: keep the number in a struct.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(u32)]
enum Cell {
    Free,
    Wall,
}

fn main() {}
