// Rule: a share stays on the thread that it was given to.
// Instead: send parts of the slice that `own` returns.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{KernelSpanMut, Share};

fn scale(share: &mut Share<'_>, data: KernelSpanMut<'_, f32>) {
    std::thread::scope(|threads| {
        threads.spawn(|| data.own(share).fill(1.0));
    });
}

fn main() {}
