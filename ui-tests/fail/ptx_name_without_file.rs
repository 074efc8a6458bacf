// Rule: only a set with a PTX file names entries of it.
// Instead: `#[escrow::kernels(struct Kernels, ptx = "blas.ptx")]`.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    #[ptx("_Z5scalefPfj")]
    safe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);
}

fn main() {}
