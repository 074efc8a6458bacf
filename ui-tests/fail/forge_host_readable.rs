// Rule: nobody says of device memory that the host can read it.
// Instead: `to_vec`, or a copy and a wait.
//~ E0117
//~ right: pass/types.rs
use escrow::{DType, DeviceBuffer, HostReadable};

escrow::streams! { Tag }

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Mine(f32);

impl HostReadable for DeviceBuffer<f32, Tag> {} //~ E0117
impl HostReadable for DeviceBuffer<Mine> {} //~ E0117
impl HostReadable for DeviceBuffer<Mine, Tag> {} //~ E0117

fn main() {}
