// Rule: declaring kernels is a promise about code that the compiler does not see.
// Instead: `unsafe extern "kernel"`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn main() {}
