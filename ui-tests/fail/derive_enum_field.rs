// Rule: the fields of an element are elements.
// Instead: keep the number, and turn it into the enum on the host.
//~ E0277
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy)]
#[repr(u32)]
enum Kind {
    Free,
    Wall,
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Cell {
    kind: Kind,
}

fn main() {}
