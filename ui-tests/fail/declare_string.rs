// Rule: a kernel takes plain data, and a `String` is a pointer to host memory.
// Instead: pass its bytes, `&[u8]`.
//~ E0277
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(name: String, data: &mut [f32]);
}

fn main() {}
