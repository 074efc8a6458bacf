// Rule: the elements of a kernel are elements.
// Instead: `&[Bool8]`.
//~ E0277
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn select(mask: &[bool], data: &mut [f32]);
}

fn main() {}
