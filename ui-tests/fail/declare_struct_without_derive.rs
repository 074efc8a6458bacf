// Rule: a struct goes to a kernel only if its layout was looked at.
// Instead: `#[derive(Clone, Copy, DType)] #[repr(C)]`, or `#[derive(DevicePassable)]`.
//~ E0277
//~ right: pass/kernels.rs
struct Params {
    factor: f32,
}

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(params: Params, data: &mut [f32]);
}

fn main() {}
