// Rule: an address of the PTX file is a span of the declaration, not a number.
// Instead: the parameters stand in the order of the file.
//~ -
//~ right: pass/kernels.rs
use escrow::{KernelSpanMut, Share};

#[escrow::kernels(struct Kernels, ptx = "ptx/pointer.ptx")]
unsafe extern "kernel" {
    #[cpu(fill)]
    #[launch(cover(y))]
    safe fn clear(y: &mut [f32], #[len_of(y)] n: u64);
}

fn fill(share: &mut Share<'_>, y: KernelSpanMut<'_, f32>, _: u64) {
    y.own(share).fill(0.0);
}

fn main() {}
