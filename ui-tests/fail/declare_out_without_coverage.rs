// Rule: `out` says who writes the elements.
// Instead: `#[out(each)]` or `#[out(all)]`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(out))]
    safe fn square(x: &[f32], #[out] out: &mut [f32]);
}

fn main() {}
