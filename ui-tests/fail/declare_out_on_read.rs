// Rule: `out` is for what a kernel writes.
// Instead: `#[out(each)] out: &mut [f32]`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(out))]
    safe fn square(x: &[f32], #[out(each)] out: &[f32]);
}

fn main() {}
