// Rule: a kernel has as many parameters as in its PTX file.
// Instead: `#[len_of(data)] n: u32` for a length, which is a parameter there.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn main() {}
