// Rule: an element borrows nothing.
// Instead: hold values, or derive `DevicePassable` for a struct with spans.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Weighted<'a> {
    weight: &'a f32,
}

fn main() {}
