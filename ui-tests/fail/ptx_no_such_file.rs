// Rule: the PTX file is there when the crate is compiled.
// Instead: its path from the folder of `Cargo.toml` on.
//~ -
//~ right: pass/ptx.rs
#[escrow::kernels(struct Kernels, ptx = "ptx/blass.ptx")]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);
}

fn main() {}
