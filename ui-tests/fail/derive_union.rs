// Rule: `DType` is not for unions.
// Instead: a struct with one of the fields, or with bytes.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C)]
union Word {
    number: u32,
    bytes: [u8; 4],
}

fn main() {}
