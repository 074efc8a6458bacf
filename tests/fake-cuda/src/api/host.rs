//! Pinned and registered host memory.

use std::ffi::{c_uint, c_void};

use crate::abi::*;
use crate::driver::Driver;
use crate::entry::{Answer, driver_calls, put};
use crate::memory::Place;
use crate::report::Kind as Finding;
use crate::session::Session;

/// Flags that a pinned block can be asked for.
const ALLOC_FLAGS: u32 = 7;
const REGISTER_FLAGS: u32 = 15;

fn allocate(d: &mut Driver, place: *mut *mut c_void, bytes: usize, flags: u32) -> Answer {
    let ctx = d.current()?;
    if flags > ALLOC_FLAGS {
        return Err(INVALID_VALUE);
    }
    if bytes == 0 {
        // SAFETY: `place` is the caller's, null or valid for a write.
        return unsafe { put(place, std::ptr::null_mut()) };
    }
    let device = d.contexts.get(ctx).map_or(0, |c| c.device);
    // No test machine has more; and the system would promise it and then end the process.
    if bytes as u64 > 1 << 40 {
        return Err(OUT_OF_MEMORY);
    }
    let base = d.memory.allocate(bytes as u64, Place::Pinned { flags }, ctx, device, None).ok_or(OUT_OF_MEMORY)?;
    // SAFETY: `place` is the caller's, null or valid for a write.
    unsafe { put(place, std::ptr::with_exposed_provenance_mut(base as usize)) }
}

/// Frees or unregisters, once nothing uses the block.
fn release(d: &mut Session, address: *mut c_void, registered: bool) -> Answer {
    let address = address.addr() as u64;
    if address == 0 && !registered {
        return Ok(());
    }
    let found = d.memory.find(address).filter(|b| b.base == address).map(|b| (b.place, b.device, b.ctx));
    let right = |place| matches!((place, registered), (Place::Pinned { .. }, false) | (Place::Registered { .. }, true));
    let Some((_, device, ctx)) = found.filter(|(place, ..)| right(*place)) else {
        let what = if registered { "registered" } else { "pinned" };
        d.complain(Finding::BadFree, &format!("got {address:#x}, which is not the start of a {what} block"));
        return Err(if registered { HOST_MEMORY_NOT_REGISTERED } else { INVALID_VALUE });
    };
    d.usable(ctx)?;
    d.device_waits += u64::from(!registered);
    d.drain_device(device);
    super::alloc::check_idle(d, address);
    d.free_block(address);
    Ok(())
}

driver_calls! {
    /// Pinned host memory.
    Call cuMemHostAlloc(place: *mut *mut c_void, bytes: usize, flags: c_uint) |d| allocate(d, place, bytes, flags);

    /// Pinned host memory without flags.
    Call cuMemAllocHost_v2(place: *mut *mut c_void, bytes: usize) |d| allocate(d, place, bytes, 0);

    /// Frees pinned host memory. Waits for the whole device.
    Call cuMemFreeHost(address: *mut c_void) |d| release(d, address, false);

    /// Pins the caller's memory.
    Call cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: c_uint) |d| {
        let ctx = d.current()?;
        if bytes == 0 || address.is_null() || flags > REGISTER_FLAGS {
            return Err(INVALID_VALUE);
        }
        let device = d.contexts.get(ctx).map_or(0, |c| c.device);
        if d.memory.register(address.expose_provenance() as u64, bytes as u64, flags, ctx, device) {
            Ok(())
        } else {
            Err(HOST_MEMORY_ALREADY_REGISTERED)
        }
    };

    /// Unpins it.
    Call cuMemHostUnregister(address: *mut c_void) |d| d.current().and_then(|_| release(d, address, true));

    /// The address that a device uses for pinned memory: the same.
    Call cuMemHostGetDevicePointer_v2(place: *mut CUdeviceptr, address: *mut c_void, flags: c_uint) |d| {
        d.current()?;
        let address = address.addr() as u64;
        if flags != 0 || !d.memory.find(address).is_some_and(crate::memory::Block::is_host) {
            return Err(INVALID_VALUE);
        }
        put(place, address)
    };

    /// The flags of pinned memory.
    Call cuMemHostGetFlags(flags: *mut c_uint, address: *mut c_void) |d| {
        d.current()?;
        match d.memory.find(address.addr() as u64).map(|b| b.place) {
            Some(Place::Pinned { flags: f } | Place::Registered { flags: f }) => put(flags, f),
            _ => Err(INVALID_VALUE),
        }
    };
}
