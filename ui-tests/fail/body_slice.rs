// Rule: a body that may run on several threads gets no slice to write.
// Instead: `KernelSpanMut<'_, f32>`, or `#[cpu(single scale)]`.
//~ E0308
//~ right: pass/kernels.rs
use escrow::Share;

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn scale(share: &mut Share<'_>, factor: f32, data: &mut [f32]) {
    data[share.range()].fill(factor);
}

fn main() {}
