// Rule: nobody says of memory that can be written that it has several owners.
// Instead: `into_shared`.
//~ E0117
//~ right: pass/ownership.rs
use escrow::{DType, DeviceBuffer, HostBuffer, InFlight, ManyOwners};

escrow::streams! { Tag }

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Mine(f32);

impl ManyOwners for HostBuffer<Mine, Tag> {} //~ E0117
impl ManyOwners for DeviceBuffer<Mine, Tag> {} //~ E0117
impl ManyOwners for InFlight<HostBuffer<Mine, Tag>> {} //~ E0117

fn main() {}
