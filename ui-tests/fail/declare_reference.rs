// Rule: a kernel does not reach a value of the host by reference.
// Instead: `&[f32]`, or the value itself.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: &f32, data: &mut [f32]);
}

fn main() {}
