// Rule: nobody else says what can hold a length.
// Instead: `u32` or another integer.
//~ E0277
//~ right: pass/passable.rs
use escrow::{DType, KernelLen};

#[derive(Clone, Copy, DType)]
#[repr(transparent)]
struct Mine(u32);

impl KernelLen for Mine { //~ E0277
    const BITS: u32 = 32;
    fn try_from_len(_: usize) -> Option<Mine> {
        None
    }
    fn from_len(_: usize) -> Mine {
        Mine(u32::MAX)
    }
}

fn main() {}
