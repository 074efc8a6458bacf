// Rule: a set has one kernel of a name.
// Instead: another name.
//~ - E0592
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
    #[launch(cover(data))]
    safe fn scale(factor: f64, data: &mut [f64]);
}

fn main() {}
