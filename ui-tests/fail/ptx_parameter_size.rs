// Rule: a parameter has the size that it has in the PTX file.
// Instead: the type that it has there: `n: u32` for `.u32`, `a: f32` for `.f32`.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f64, data: &mut [f32], #[len_of(data)] n: u64);
}

fn main() {}
