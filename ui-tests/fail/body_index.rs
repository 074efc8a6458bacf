// Rule: threads of one launch do not index memory that all of them write.
// Instead: `data.own(share)`, the elements of this share.
//~ E0608
//~ right: pass/kernels.rs
use escrow::KernelSpanMut;

fn scale(data: KernelSpanMut<'_, f32>) {
    data[0] = 1.0;
}

fn main() {}
