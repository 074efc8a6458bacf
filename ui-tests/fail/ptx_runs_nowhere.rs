// Rule: a kernel of a set with PTX runs on some device.
// Instead: an entry in the file, or a Rust body, `#[cpu(body)]`.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    #[ptx(none)]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn main() {}
