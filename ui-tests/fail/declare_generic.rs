// Rule: a kernel is compiled for one element type.
// Instead: one declaration for each.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale<T: Copy>(factor: T, data: &mut [T]);
}

fn main() {}
