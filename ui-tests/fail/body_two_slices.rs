// Rule: a share lends its elements once at a time.
// Instead: use the first slice to its end, or `share.own2(x, y)`.
//~ E0499
//~ right: pass/kernels.rs
use escrow::{KernelSpanMut, Share};

fn add(share: &mut Share<'_>, x: KernelSpanMut<'_, f32>, y: KernelSpanMut<'_, f32>) {
    let x = x.own(share);
    let y = y.own(share);
    x[0] += y[0];
}

fn main() {}
