// Rule: an element holds no reference, a `'static` one neither.
// Instead: hold the value, or an index.
//~ E0277
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Named {
    name: &'static u8,
}

fn main() {}
