// Rule: nobody else says what can be in flight.
// Instead: `HostBuffer`.
//~ E0277
//~ right: pass/flight.rs
use escrow::HostMemory;

escrow::streams! { Tag }

struct Mine;

impl HostMemory for Mine { //~ E0277
    type Tag = Tag;
    type Elem = f32;
}

fn main() {}
