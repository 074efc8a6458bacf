// Rule: PTX is for no newer GPU than `target` admits.
// Instead: `nvcc -ptx -arch=sm_80`, or a newer `target`.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/hopper.ptx", target = "sm_80")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);
}

fn main() {}
