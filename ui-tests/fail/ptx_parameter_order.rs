// Rule: parameters have the order that they have in the PTX file.
// Instead: that order, with each `len_of` parameter at its place.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(a: f32, #[len_of(y)] n: u32, x: &[f32], y: &mut [f32]);
}

fn main() {}
