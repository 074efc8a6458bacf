// Rule: the layout of a generic element follows from its bounds.
// Instead: fields of one type, `#[repr(C, packed)]`, or a concrete struct.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Tagged<T: DType> {
    value: T,
    tag: u32,
}

fn main() {}
