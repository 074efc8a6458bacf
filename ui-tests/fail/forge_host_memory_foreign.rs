// Rule: a tag of your own does not put other memory into flight.
// Instead: `HostBuffer`.
//~ E0117
//~ right: pass/flight.rs
use escrow::{DeviceBuffer, HostMemory};

escrow::streams! { Tag }

impl HostMemory for DeviceBuffer<f32, Tag> { //~ E0117
    type Tag = Tag;
    type Elem = f32;
}
impl HostMemory for Vec<Tag> { //~ E0117
    type Tag = Tag;
    type Elem = f32;
}
impl HostMemory for [Tag; 1] { //~ E0117
    type Tag = Tag;
    type Elem = f32;
}
impl HostMemory for Option<Tag> { //~ E0117
    type Tag = Tag;
    type Elem = f32;
}
impl HostMemory for () { //~ E0117
    type Tag = Tag;
    type Elem = f32;
}

fn main() {}
