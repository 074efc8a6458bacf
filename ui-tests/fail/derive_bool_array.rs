// Rule: every pattern of bits is a valid element, in arrays too.
// Instead: `[Bool8; N]`.
//~ E0277
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(transparent)]
struct Row<const N: usize>([bool; N]);

fn main() {}
