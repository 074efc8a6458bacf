// Rule: a span's element is aligned to what the PTX file says of the pointer.
// Instead: an element of that alignment, as the kernel's source has it.
//~ E0080
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/pointer.ptx")]
unsafe extern "kernel" {
    #[launch(cover(y))]
    safe fn clear4(y: &mut [f32], #[len_of(y)] n: u64);
}

fn main() {}
