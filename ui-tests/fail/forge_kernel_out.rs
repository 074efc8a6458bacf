// Rule: nobody else says what a kernel can write.
// Instead: a device buffer or a span of it.
//~ E0046 E0277
//~ right: pass/kernels.rs
use escrow::KernelOut;

escrow::streams! { Tag }

struct Mine([f32; 4]);

impl KernelOut for Mine { //~ E0277
    type Elem = f32;
    type Tag = Tag;
    type Written = ();
}
impl KernelOut for Tag { //~ E0277
    type Elem = f32;
    type Tag = Tag;
    type Written = ();
}
impl KernelOut for &Mine { //~ E0277
    type Elem = f32;
    type Tag = Tag;
    type Written = ();
}

fn main() {}
