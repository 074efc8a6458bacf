// Rule: the barrier knows what has phases.
// Instead: tuples, arrays and `Vec`s of symmetric buffers.
//~ E0046 E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Flip};

escrow::streams! { Tag }

struct Mine(DeviceBuffer<f32>);

impl Flip for Mine { //~ E0277
    type Flipped = DeviceBuffer<f32>;
}

impl Flip<Tag> for DeviceBuffer<f32, Tag> { //~ E0277
    type Flipped = Self;
}

fn main() {}
