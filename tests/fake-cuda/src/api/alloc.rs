//! Device memory: at once, and in stream order.

use std::ffi::c_uint;

use crate::abi::*;
use crate::driver::{Driver, id};
use crate::entry::{self, Answer, driver_calls, put};
use crate::memory::{DEVICE_BASE, Place};
use crate::op::Kind;
use crate::report::Kind as Finding;
use crate::session::Session;
use crate::shadow::Access;

/// Reports a free of a block that some stream may still use, as far as the host knows.
pub(super) fn check_idle(d: &mut Driver, base: u64) {
    let host = &d.host;
    let idle = |a: &Access| host.get(a.slot) >= a.serial;
    let Some(block) = d.memory.find(base) else { return };
    if let Some((other, wrote)) = block.shadow.pending(idle) {
        let (verb, stream) = (if wrote { "writes to" } else { "reads" }, d.owner(other.slot));
        let text = format!(
            "frees or unregisters the block at {base:#x} that {} (op {}, stream {stream:#x}) {verb}, and nothing waited for that",
            other.call, other.serial
        );
        d.complain(Finding::FreeInUse, &text);
    }
}

/// Takes memory off a device's budget. The first failure runs all pending work, whose frees may give enough back.
fn reserve(d: &mut Session, device: i32, len: u64) -> Answer {
    for last in [false, true] {
        let total = d.settings.memory;
        let used = &mut d.device(device)?.used;
        if len <= total.saturating_sub(*used) {
            *used += len;
            return Ok(());
        }
        if !last {
            d.drain_device(device);
        }
    }
    Err(OUT_OF_MEMORY)
}

fn allocate(d: &mut Session, len: usize, ctx: u64, pool: u64, by: Option<Access>) -> Result<u64, CUresult> {
    if len == 0 {
        return Err(INVALID_VALUE);
    }
    let device = d.contexts.get(ctx).map(|c| c.device).ok_or(INVALID_CONTEXT)?;
    reserve(d, device, len as u64)?;
    if let Some(base) = d.memory.allocate(len as u64, Place::Device { pool }, ctx, device, by) {
        if let Some(pool) = d.pools.get_mut(pool) {
            pool.used += len as u64;
            pool.high = pool.high.max(pool.used);
        }
        return Ok(base);
    }
    d.device(device)?.used -= len as u64;
    Err(OUT_OF_MEMORY)
}

fn allocate_ordered(d: &mut Session, stream: u64, len: usize, pool: Option<u64>) -> Result<u64, CUresult> {
    if !d.settings.pools {
        return Err(NOT_SUPPORTED);
    }
    let ctx = d.ctx_of(stream);
    let device = d.contexts.get(ctx).map(|c| c.device).ok_or(INVALID_CONTEXT)?;
    let pool = match pool {
        Some(pool) => pool,
        None => d.device(device)?.pool,
    };
    let call = d.call;
    let serial = d.enqueue(stream, Kind::Nothing);
    let slot = d.streams.get(stream).map_or(0, |s| s.slot);
    allocate(d, len, ctx, pool, Some(Access { slot, serial, call }))
}

/// Finds what a free names; anything but the start of a device block is reported.
fn find_device_block(d: &mut Driver, address: u64) -> Result<u64, CUresult> {
    let found = d.memory.find(address).map(|b| (b.base, b.is_host(), b.freeing));
    let what = match found {
        Some((base, false, None)) if base == address => return Ok(base),
        Some((_, false, Some(_))) => "twice: its free is enqueued already",
        Some((_, true, _)) => "which is host memory",
        Some(_) => "which is not the start of its block",
        None if d.memory.was_freed(address) => "twice",
        None => "which no call gave out",
    };
    d.complain(Finding::BadFree, &format!("frees {address:#x}, {what}"));
    Err(INVALID_VALUE)
}

fn free_ordered(d: &mut Session, address: u64, stream: CUstream) -> Answer {
    let stream = d.stream(stream)?;
    if !d.settings.pools {
        return Err(NOT_SUPPORTED);
    }
    if address == 0 {
        return Ok(());
    }
    // Memory of cuMemAlloc too: a driver 580 takes it.
    let base = find_device_block(d, address)?;
    let owner = d.memory.find(base).map(|b| b.device);
    let ctx = d.ctx_of(stream);
    if d.contexts.get(ctx).map(|c| c.device) != owner {
        d.complain(Finding::WrongContext, "frees memory of one device on a stream of another");
        return Err(INVALID_VALUE);
    }
    let call = d.call;
    let slot = d.streams.get(stream).map_or(0, |s| s.slot);
    let serial = d.enqueue(stream, Kind::Free { base });
    if let Some(block) = d.memory.get_mut(base) {
        block.freeing = Some(Access { slot, serial, call });
    }
    Ok(())
}

driver_calls! {
    /// Device memory, there at once.
    Call cuMemAlloc_v2(place: *mut CUdeviceptr, bytes: usize) |d| {
        let ctx = d.current()?;
        let base = allocate(d, bytes, ctx, 0, None)?;
        put(place, base)
    };

    /// Rows of device memory, 512 bytes apart or a multiple of it.
    Call cuMemAllocPitch_v2(
        place: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: c_uint,
    ) |d| {
        let ctx = d.current()?;
        if width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
            return Err(INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(OUT_OF_MEMORY)?;
        let bytes = row.checked_mul(height).ok_or(OUT_OF_MEMORY)?;
        put(pitch, row)?;
        let base = allocate(d, bytes, ctx, 0, None)?;
        put(place, base)
    };

    /// Frees device memory of any kind. Waits for the whole device.
    Call cuMemFree_v2(address: CUdeviceptr) |d| {
        if address == 0 {
            return Ok(());
        }
        let base = find_device_block(d, address)?;
        let ctx = d.memory.find(base).map_or(0, |b| b.ctx);
        d.usable(ctx)?;
        let device = d.memory.find(base).map_or(0, |b| b.device);
        d.device_waits += 1;
        d.drain_device(device);
        check_idle(d, base);
        d.free_block(base);
        Ok(())
    };

    /// Device memory in stream order, from the device's current pool.
    Call cuMemAllocAsync(place: *mut CUdeviceptr, bytes: usize, stream: CUstream) |d| {
        if entry::flag(entry::NULL) {
            return put(place, DEVICE_BASE + 512);
        }
        let stream = d.stream(stream)?;
        if bytes == 0 {
            return put(place, 0);
        }
        let base = allocate_ordered(d, stream, bytes, None)?;
        put(place, base)
    };

    /// Device memory in stream order, from a given pool.
    Call cuMemAllocFromPoolAsync(place: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, stream: CUstream) |d| {
        let stream = d.stream(stream)?;
        let pool = id(pool);
        if d.pools.get(pool).is_none() {
            return Err(d.bad_handle("pool", pool));
        }
        let base = allocate_ordered(d, stream, bytes, Some(pool))?;
        put(place, base)
    };

    /// Frees device memory in stream order.
    Queued cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) |d| free_ordered(d, address, stream);

    /// Free and total bytes of the current context's device.
    Call cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |d| {
        let ctx = d.current()?;
        let all = d.settings.memory;
        let ordinal = d.contexts.get(ctx).map_or(0, |c| c.device);
        let used = d.device(ordinal)?.used;
        put(free, (all - used) as usize)?;
        put(total, all as usize)
    };

    /// The block that holds an address.
    Call cuMemGetAddressRange_v2(base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr) |d| {
        let Some((start, len)) = d.memory.find(address).map(|b| (b.base, b.len)) else { return Err(NOT_FOUND) };
        if !base.is_null() {
            put(base, start)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, len as usize) }
    };
}
