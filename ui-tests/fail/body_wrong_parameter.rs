// Rule: a body takes its share and the parameters of the declaration.
// Instead: `factor: f32`.
//~ E0308
//~ right: pass/kernels.rs
use escrow::{KernelSpanMut, Share};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn scale(share: &mut Share<'_>, factor: f64, data: KernelSpanMut<'_, f32>) {
    data.own(share).fill(factor as f32);
}

fn main() {}
