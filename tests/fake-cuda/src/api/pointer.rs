//! What the driver knows about an address.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::*;
use crate::driver::{Driver, handle};
use crate::entry::{Answer, driver_calls, put};
use crate::memory::Place;

/// Writes one attribute of the block at an address.
///
/// # Safety
/// `data` is null or valid for a write of the attribute's type.
unsafe fn attribute(d: &Driver, number: c_int, address: u64, data: *mut c_void) -> Answer {
    let block = d.memory.find(address).ok_or(INVALID_VALUE)?;
    let pool = if let Place::Device { pool } = block.place { pool } else { 0 };
    // SAFETY: the caller vouches for `data`; the types are those of the driver's documentation.
    unsafe {
        match number {
            1 => put(data.cast::<CUcontext>(), handle(block.ctx)),
            2 => put(data.cast::<c_uint>(), if block.is_host() { 1 } else { 2 }),
            3 => put(data.cast::<u64>(), address),
            4 if block.is_host() => put(data.cast::<u64>(), address),
            6 | 8 | 10 => put(data.cast::<c_uint>(), 0),
            7 | 11 => put(data.cast::<u64>(), block.base),
            9 => put(data.cast::<c_int>(), block.device),
            12 => put(data.cast::<usize>(), block.len as usize),
            13 => put(data.cast::<c_uint>(), 1),
            16 => put(data.cast::<c_int>(), 3),
            17 => put(data.cast::<CUmemoryPool>(), handle(pool)),
            4 => Err(INVALID_VALUE),
            _ => Err(NOT_SUPPORTED),
        }
    }
}

driver_calls! {
    /// One attribute. Pageable memory has none.
    Call cuPointerGetAttribute(data: *mut c_void, number: c_int, address: CUdeviceptr) |d| {
        attribute(d, number, address, data)
    };

    /// Several attributes. Those that an address lacks are 0.
    Call cuPointerGetAttributes(count: c_uint, numbers: *mut c_int, data: *mut *mut c_void, address: CUdeviceptr) |d| {
        if numbers.is_null() || data.is_null() {
            return Err(INVALID_VALUE);
        }
        for i in 0..count as usize {
            let (number, place) = (numbers.add(i).read(), data.add(i).read());
            if attribute(d, number, address, place).is_err() {
                match number {
                    1 | 3 | 4 | 7 | 11 | 12 | 17 => put(place.cast::<u64>(), 0)?,
                    9 => put(place.cast::<c_int>(), -2)?,
                    _ => put(place.cast::<c_uint>(), 0)?,
                }
            }
        }
        Ok(())
    };
}
