//! GPUs, through the CUDA driver.

mod core;
mod device;
mod event;
mod fill;
mod interop;
mod memory;
mod module;
mod peer;
mod raw;
mod register;
mod stage;

pub(crate) use self::core::Core;
pub(crate) use self::device::{CudaDevice, Entered};
pub(crate) use self::event::Event;
pub(crate) use self::memory::Allocation;
pub use self::module::Functions;
pub(crate) use self::register::Registrations;

use std::ffi::CStr;
use std::ptr;

use crate::error::{Error, Operation};

/// The driver's name and text for an error.
pub(crate) fn error_text(code: i32) -> String {
    let (mut name, mut text) = (ptr::null(), ptr::null());
    // SAFETY: both functions only write the address of a constant text, or null.
    let known =
        unsafe { raw::cuGetErrorName(code, &raw mut name) == 0 && raw::cuGetErrorString(code, &raw mut text) == 0 };
    if !known || name.is_null() || text.is_null() {
        return String::new();
    }
    // SAFETY: the driver's texts are constants that end in zero.
    let (name, text) = unsafe { (CStr::from_ptr(name), CStr::from_ptr(text)) };
    format!(", {}: {}", name.to_string_lossy(), text.to_string_lossy())
}

/// A driver call's result.
#[inline]
fn check(op: Operation, code: raw::Code) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Error::Driver { op, code }) }
}
