// Rule: a condition is true or false.
// Instead: `x.len() == y.len()`.
//~ E0308
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len())]
    safe fn saxpy(a: f32, x: &[f32], y: &mut [f32]);
}

fn main() {}
