// Rule: a parameter is not aligned to more than in the PTX file.
// Instead: the alignment of the struct in the kernel's source.
//~ E0080
//~ right: pass/ptx.rs
use escrow::DType;

#[repr(C, align(16))]
#[derive(Clone, Copy, DType)]
struct Color {
    rgba: [f32; 4],
}

#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn tint4(color: Color, data: &mut [Color], #[len_of(data)] n: u32);
}

fn main() {}
