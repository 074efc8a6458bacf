// Rule: a declaration says whether the kernel is safe to launch.
// Instead: `safe fn` or `unsafe fn`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    fn scale(factor: f32, data: &mut [f32]);
}

fn main() {}
