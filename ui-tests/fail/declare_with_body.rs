// Rule: a body is a function of its own.
// Instead: `#[cpu(scale)]`, and `fn scale` outside of the block.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]) {
        data.own(share)[0] *= factor;
    }
}

fn main() {}
