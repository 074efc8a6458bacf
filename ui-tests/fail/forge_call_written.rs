// Rule: that a kernel has written memory is `unsafe` to say, in generic code too.
// Instead: launch a kernel with an `out` parameter.
//~ E0133
//~ right: pass/kernels.rs
use escrow::KernelOut;

fn user<A: KernelOut>(out: A) -> A::Written {
    out.written()
}

fn main() {}
