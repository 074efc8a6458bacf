// Rule: only exposed memory is remote.
// Instead: `&Exposed<ShmemBuffer>`, or a part of one.
//~ E0046 E0277
//~ right: pass/shmem.rs
use escrow::{DeviceBuffer, Remote};

struct Mine(DeviceBuffer<f32>);

impl Remote for Mine { //~ E0277
    type Elem = f32;
    type Tag = escrow::Dyn;
}

fn main() {}
