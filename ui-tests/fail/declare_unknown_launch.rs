// Rule: a launch has the parts that `#[launch(..)]` knows.
// Instead: `cover(..)`, `grid(..), block(..)` or `max(..)`.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(threads(256))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn main() {}
