// Rule: elements are aligned to at most 16 bytes.
// Instead: leave the alignment out.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C, align(32))]
struct Line {
    bytes: [u8; 32],
}

fn main() {}
