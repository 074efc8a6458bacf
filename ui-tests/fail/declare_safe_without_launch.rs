// Rule: a kernel that is safe to launch says which launches it admits.
// Instead: `#[launch(cover(data))]`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn main() {}
