// Rule: a span is declared as what the kernel does with it.
// Instead: `&[f32]` or `&mut [f32]`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: [f32]);
}

fn main() {}
