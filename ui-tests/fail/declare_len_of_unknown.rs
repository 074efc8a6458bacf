// Rule: `len_of` names a parameter.
// Instead: the name of a span parameter.
//~ -
//~ right: pass/kernels.rs
#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(#[len_of(dta)] n: u32, data: &mut [f32]);
}

fn main() {}
