// Rule: a kernel takes spans, not pointers.
// Instead: `&mut [f32]`, or `TrustedPtr<f32>`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(grid(1), block(8))]
    safe fn scale(factor: f32, data: *mut f32);
}

fn main() {}
