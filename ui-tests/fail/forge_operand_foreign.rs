// Rule: a tag or an element of your own does not open the traits of operands for types of the library.
// Instead: what the library offers for them.
//~ E0117
//~ right: pass/flight.rs
use escrow::{CopyDst, CopySrc, DeviceBuffer, DeviceSpan, DType, HostBuffer, SharedHostBuffer};

escrow::streams! { Tag }

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Mine(f32);

impl CopySrc for &HostBuffer<Mine, Tag> {} //~ E0117
impl CopySrc for Vec<Mine> {} //~ E0117
impl CopySrc for &[Mine] {} //~ E0117
impl CopySrc for [Mine; 4] {} //~ E0117
impl CopySrc for Option<Mine> {} //~ E0117
impl CopySrc for () {} //~ E0117
impl CopySrc for &mut DeviceBuffer<Mine, Tag> {} //~ E0117
impl CopyDst for &DeviceBuffer<Mine, Tag> {} //~ E0117
impl CopyDst for DeviceSpan<'_, Mine, Tag> {} //~ E0117
impl CopyDst for &SharedHostBuffer<Mine, Tag> {} //~ E0117
impl CopyDst for &mut HostBuffer<Mine, Tag> {} //~ E0117
impl CopyDst for Vec<Mine> {} //~ E0117

fn main() {}
