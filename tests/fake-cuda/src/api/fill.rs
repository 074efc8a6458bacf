//! Fills.

use std::ffi::{c_uchar, c_uint, c_ushort};

use crate::abi::*;
use crate::driver::Driver;
use crate::entry::{Answer, driver_calls};
use crate::op::Kind;
use crate::report::Kind as Finding;
use crate::session::Session;

fn check(d: &mut Driver, ctx: u64, dst: u64, width: u8, count: usize) -> Answer {
    let width = u64::from(width);
    if !dst.is_multiple_of(width) {
        return Err(INVALID_VALUE);
    }
    let bytes = (count as u64).checked_mul(width).ok_or(INVALID_VALUE)?;
    let owner = d.range(dst, bytes, "fills")?;
    let device = |c| d.contexts.get(c).map(|c| c.device);
    let peer = d.contexts.get(ctx).is_some_and(|c| c.peers.contains(&owner));
    if Driver::is_device_address(dst) && device(owner) != device(ctx) && !peer {
        d.complain(Finding::WrongContext, "fills memory of another device without peer access");
        return Err(INVALID_VALUE);
    }
    Ok(())
}

fn enqueue(d: &mut Session, stream: CUstream, dst: u64, pattern: u32, width: u8, count: usize) -> Answer {
    let stream = d.stream(stream)?;
    if count == 0 {
        return Ok(());
    }
    let ctx = d.ctx_of(stream);
    check(d, ctx, dst, width, count)?;
    d.enqueue(stream, Kind::Fill { dst, pattern, width, count: count as u64 });
    Ok(())
}

/// On the NULL stream; the host does not wait, unless the memory is its own.
fn now(d: &mut Session, dst: u64, pattern: u32, width: u8, count: usize) -> Answer {
    let ctx = d.current()?;
    if count == 0 {
        return Ok(());
    }
    check(d, ctx, dst, width, count)?;
    let null = d.contexts.get(ctx).map_or(0, |c| c.null);
    d.enqueue(null, Kind::Fill { dst, pattern, width, count: count as u64 });
    if Driver::is_device_address(dst) { Ok(()) } else { d.finish(null) }
}

driver_calls! {
    /// Bytes.
    Queued cuMemsetD8Async(dst: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) |d| {
        enqueue(d, stream, dst, u32::from(value), 1, count)
    };

    /// 16-bit values.
    Queued cuMemsetD16Async(dst: CUdeviceptr, value: c_ushort, count: usize, stream: CUstream) |d| {
        enqueue(d, stream, dst, u32::from(value), 2, count)
    };

    /// 32-bit values.
    Queued cuMemsetD32Async(dst: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) |d| {
        enqueue(d, stream, dst, value, 4, count)
    };

    /// Bytes, on the NULL stream.
    Call cuMemsetD8_v2(dst: CUdeviceptr, value: c_uchar, count: usize) |d| now(d, dst, u32::from(value), 1, count);

    /// 16-bit values, on the NULL stream.
    Call cuMemsetD16_v2(dst: CUdeviceptr, value: c_ushort, count: usize) |d| now(d, dst, u32::from(value), 2, count);

    /// 32-bit values, on the NULL stream.
    Call cuMemsetD32_v2(dst: CUdeviceptr, value: c_uint, count: usize) |d| now(d, dst, value, 4, count);
}
