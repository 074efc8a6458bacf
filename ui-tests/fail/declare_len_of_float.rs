// Rule: a length is an integer.
// Instead: `u32`.
//~ E0277
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(#[len_of(data)] n: f32, data: &mut [f32]);
}

fn main() {}
