// Rule: nobody else says what a kernel can read.
// Instead: a device buffer or a span of it.
//~ E0046 E0277
//~ right: pass/kernels.rs
use escrow::DeviceRead;

escrow::streams! { Tag }

struct Mine([f32; 4]);

impl DeviceRead for Mine { //~ E0277
    type Elem = f32;
    type Tag = Tag;
}
impl DeviceRead for Tag { //~ E0277
    type Elem = f32;
    type Tag = Tag;
}
impl DeviceRead for &Mine { //~ E0277
    type Elem = f32;
    type Tag = Tag;
}

fn main() {}
