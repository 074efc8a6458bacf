// Rule: the element of another thread is `unsafe` to read.
// Instead: the elements of this share, or `unsafe` and a reason why nobody writes it.
//~ E0133
//~ right: pass/kernels.rs
use escrow::KernelSpanMut;

fn shift(data: KernelSpanMut<'_, f32>) -> f32 {
    data.get(1)
}

fn main() {}
