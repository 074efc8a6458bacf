// Rule: a body takes its share first.
// Instead: `share: &mut Share<'_>`.
//~ E0061
//~ right: pass/kernels.rs
use escrow::KernelSpanMut;

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn scale(factor: f32, data: KernelSpanMut<'_, f32>) {
    println!("{factor} {}", data.len());
}

fn main() {}
