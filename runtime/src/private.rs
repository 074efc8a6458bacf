//! What macros of this crate name in the user's code. No part of the interface.

pub use bytemuck;

pub use crate::dtype::ctext::{
    FieldLayout, Part, PrintStruct, Text, check_device, check_element, check_param, check_pointee, kind,
};
pub use crate::dtype::{DType, Init};
pub use crate::error::Error;
pub use crate::kernel::{ArgCheck, DeviceLayout, DevicePassable, KernelLen};
pub use crate::tag::{Dyn, StreamTag};

pub use crate::context::DeviceContext;
/// The device code of a kernel set.
#[cfg(feature = "cuda")]
pub use crate::cuda::Functions;
pub use crate::device::Device;
pub use crate::error::Fault;
#[cfg(not(feature = "cuda"))]
pub use crate::kernel::call::Functions;
pub use crate::kernel::call::{
    Arg, Call, CpuBody, Entry, LaunchNumber, SpanLen, Visit, dim, find, holds, launch, number, param, span_len,
};
pub use crate::kernel::{DeviceRead, DeviceWrite, Dim, KernelOut, KernelSpan, KernelSpanMut, Launch, Share};
pub use crate::operand::{SameElem, SameStream};
