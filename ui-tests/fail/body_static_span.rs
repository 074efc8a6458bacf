// Rule: memory that a body gets is its own only until it returns.
// Instead: `KernelSpanMut<'_, f32>`.
//~ E0521
//~ right: pass/kernels.rs
use escrow::{KernelSpanMut, Share};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn scale(share: &mut Share<'_>, factor: f32, data: KernelSpanMut<'static, f32>) {
    data.own(share).fill(factor);
}

fn main() {}
