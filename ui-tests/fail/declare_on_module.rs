// Rule: kernels are declared in a block `unsafe extern "kernel"`.
// Instead: `unsafe extern "kernel" { safe fn scale(..); }` behind the attribute.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
mod kernels {
    fn scale(factor: f32, data: &mut [f32]) {}
}

fn main() {}
