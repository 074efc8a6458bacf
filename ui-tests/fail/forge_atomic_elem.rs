// Rule: atomic operations are on the integers that all engines have.
// Instead: `i32`, `u32`, `i64` or `u64`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{AtomicElem, DType};

#[derive(Clone, Copy, DType)]
#[repr(transparent)]
struct Mine(f32);

impl AtomicElem for Mine { //~ E0277
    fn to_bits(self) -> u64 {
        0
    }
    fn from_bits(_: u64) -> Self {
        Mine(0.0)
    }
}

fn main() {}
