// Rule: a struct takes no exposed memory to a kernel.
// Instead: a `DeviceSpan` or `ShmemBuffer` field, of local memory.
//~ E0277
//~ right: pass/shmem.rs
use escrow::{DevicePassable, Exposed, ShmemBuffer};

#[derive(DevicePassable)]
struct Params<'a> {
    table: Exposed<ShmemBuffer<'a, f32>>,
}

fn main() {}
