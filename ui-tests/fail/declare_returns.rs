// Rule: a kernel returns nothing.
// Instead: a `&mut [f32]` parameter with `#[out(all)]`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn sum(data: &[f32]) -> f32;
}

fn main() {}
