//! What macros of this crate name in the user's code. No part of the interface.

pub use bytemuck;

pub use crate::dtype::ctext::{FieldLayout, Part, PrintStruct, Text, check_device, check_element, kind};
pub use crate::dtype::{DType, Init};
pub use crate::error::Error;
pub use crate::kernel::{ArgCheck, DeviceLayout, DevicePassable, KernelLen};
pub use crate::tag::{Dyn, StreamTag};
