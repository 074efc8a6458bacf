// Rule: a kernel has to know the layout of an element, and that of `repr(Rust)` is not fixed.
// Instead: `#[repr(C)]`.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(Rust)]
struct Sample {
    value: f32,
}

fn main() {}
