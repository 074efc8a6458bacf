// Rule: a body does not write what its kernel reads.
// Instead: declare the parameter as `&mut [f32]`.
//~ E0594
//~ right: pass/kernels.rs
use escrow::Share;

fn scale(share: &mut Share<'_>, x: &[f32]) {
    x[share.range().start] = 1.0;
}

fn main() {}
