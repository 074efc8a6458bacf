// Rule: a kernel is in the set's PTX file.
// Instead: the name that it has there, or `#[ptx("name")]`.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale_all(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);

    #[launch(cover(data))]
    safe fn clamp(limit: f32, data: &mut [f32], #[len_of(data)] n: u32);

    #[launch(cover(data))]
    #[ptx("scale")]
    safe fn one(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);

    #[launch(cover(data))]
    #[ptx("Scale")]
    safe fn other(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);
}

fn main() {}
