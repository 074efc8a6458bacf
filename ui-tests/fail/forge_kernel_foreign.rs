// Rule: a tag or an element of your own does not open the traits of kernels for types of the library.
// Instead: what the library offers for them.
//~ E0117
//~ right: pass/kernels.rs
use escrow::{DType, DeviceBuffer, DeviceRead, DeviceSpan, DeviceWrite, HostBuffer, InFlight, KernelOut, SharedDeviceBuffer};

escrow::streams! { Tag }

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Mine(f32);

impl DeviceRead for HostBuffer<Mine, Tag> {} //~ E0117
impl DeviceRead for InFlight<HostBuffer<Mine, Tag>> {} //~ E0117
impl DeviceRead for Vec<Mine> {} //~ E0117
impl DeviceRead for [Mine] {} //~ E0117
impl DeviceRead for Option<DeviceBuffer<Mine, Tag>> {} //~ E0117
impl DeviceWrite for DeviceSpan<'_, Mine, Tag> {} //~ E0117
impl DeviceWrite for SharedDeviceBuffer<Mine, Tag> {} //~ E0117
impl DeviceWrite for HostBuffer<Mine, Tag> {} //~ E0117
impl DeviceWrite for () {} //~ E0117
impl KernelOut for DeviceBuffer<Mine, Tag> {} //~ E0117
impl KernelOut for &DeviceBuffer<Mine, Tag> {} //~ E0117
impl KernelOut for DeviceSpan<'_, Mine, Tag> {} //~ E0117
impl KernelOut for Option<Mine> {} //~ E0117
impl KernelOut for Vec<Mine> {} //~ E0117

fn main() {}
