// Rule: whether `align` makes padding must not depend on a parameter.
// Instead: leave it out, or make the struct concrete.
//~ -
//~ right: pass/elements.rs
use escrow::DType;

#[derive(Clone, Copy, DType)]
#[repr(C, align(16))]
struct Wide<T: DType>(T);

fn main() {}
