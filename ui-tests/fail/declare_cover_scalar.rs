// Rule: `cover` names a span.
// Instead: the name of a `&[T]` or `&mut [T]` parameter.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(n))]
    safe fn scale(n: u32, data: &mut [f32]);
}

fn main() {}
