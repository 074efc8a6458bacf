// Rule: the elements of a share do not outlive it.
// Instead: use them inside of the body.
//~ E0621
//~ right: pass/kernels.rs
use escrow::{KernelSpanMut, Share};

fn scale<'k>(share: &mut Share<'k>, data: KernelSpanMut<'k, f32>) -> &'k mut [f32] {
    data.own(share)
}

fn main() {}
