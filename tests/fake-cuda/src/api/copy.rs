//! Copies. The host side of an asynchronous one may be pageable: an upload is staged at the call then, a download
//! runs within it.

use std::ffi::c_void;

use crate::abi::*;
use crate::driver::{Driver, id};
use crate::entry::{Answer, driver_calls};
use crate::op::{End, Kind};
use crate::report::Kind as Finding;
use crate::session::Session;

/// What the caller says about an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Device,
    Host,
    /// `cuMemcpy`: the driver looks.
    Any,
}

/// Checks one side. `None` for pageable memory.
fn side(d: &mut Driver, address: u64, len: u64, side: Side, what: &str) -> Result<Option<u64>, CUresult> {
    if side != Side::Device && !Driver::is_device_address(address) && d.memory.find(address).is_none() {
        if address == 0 {
            return Err(INVALID_VALUE);
        }
        return Ok(None);
    }
    if side == Side::Host && Driver::is_device_address(address) {
        d.complain(Finding::WrongContext, &format!("got the device address {address:#x} for host memory"));
        return Err(INVALID_VALUE);
    }
    d.range(address, len, what).map(Some)
}

/// Whether a stream's context may touch a block of another.
fn reachable(d: &mut Driver, ctx: u64, block: u64, address: u64) -> Answer {
    let device = |c| d.contexts.get(c).map(|c| c.device);
    if block == ctx || !Driver::is_device_address(address) || device(block) == device(ctx) {
        return Ok(());
    }
    if d.contexts.get(ctx).is_some_and(|c| c.peers.contains(&block)) {
        return Ok(());
    }
    d.complain(Finding::WrongContext, &format!("uses {address:#x}, memory of another device, without peer access"));
    Err(INVALID_VALUE)
}

#[derive(Clone, Copy)]
struct Copy {
    dst: u64,
    src: u64,
    len: u64,
    sides: (Side, Side),
    /// The contexts that a peer copy names: (destination, source).
    peers: Option<(u64, u64)>,
}

/// Checks both sides; tells which are in blocks.
fn check(d: &mut Driver, ctx: u64, copy: Copy) -> Result<(bool, bool), CUresult> {
    let src = side(d, copy.src, copy.len, copy.sides.1, "reads")?;
    let dst = side(d, copy.dst, copy.len, copy.sides.0, "writes")?;
    if copy.src.abs_diff(copy.dst) < copy.len {
        let text = format!("copies {} bytes from {:#x} to {:#x}, which overlap", copy.len, copy.src, copy.dst);
        d.complain(Finding::Overlap, &text);
        return Err(INVALID_VALUE);
    }
    if let Some((dst_ctx, src_ctx)) = copy.peers {
        for (named, found, address) in [(dst_ctx, dst, copy.dst), (src_ctx, src, copy.src)] {
            if d.contexts.get(named).is_none() {
                d.bad_handle("context", named);
                return Err(INVALID_CONTEXT);
            }
            let device = |c| d.contexts.get(c).map(|c| c.device);
            if found.is_some_and(|f| device(f) != device(named)) {
                d.complain(Finding::WrongContext, &format!("names the wrong context for {address:#x}"));
                return Err(INVALID_VALUE);
            }
        }
    } else {
        for (found, address) in [(dst, copy.dst), (src, copy.src)] {
            if let Some(block) = found {
                reachable(d, ctx, block, address)?;
            }
        }
    }
    Ok((dst.is_some(), src.is_some()))
}

fn enqueue(d: &mut Session, stream: CUstream, copy: Copy) -> Answer {
    let stream = d.stream(stream)?;
    if copy.len == 0 {
        return Ok(());
    }
    let ctx = d.ctx_of(stream);
    let (dst, src) = check(d, ctx, copy)?;
    if dst && src {
        let (dst, src) = (End::Block(copy.dst), End::Block(copy.src));
        d.enqueue(stream, Kind::Copy { dst, src, len: copy.len });
        return Ok(());
    }
    d.pageable += 1;
    if d.settings.pinned_only {
        d.complain(Finding::NotPermitted, "copies from or to pageable memory");
    }
    let src = if src {
        End::Block(copy.src)
    } else {
        let from: *const u8 = std::ptr::with_exposed_provenance(copy.src as usize);
        // SAFETY: the caller vouches for the source, and it is not in a block: its own, readable memory.
        End::Bytes(unsafe { std::slice::from_raw_parts(from, copy.len as usize) }.into())
    };
    let end = if dst { End::Block(copy.dst) } else { End::Raw(copy.dst as usize) };
    let serial = d.enqueue(stream, Kind::Copy { dst: end, src, len: copy.len });
    if !dst {
        d.run(stream, serial);
    }
    Ok(())
}

/// On the NULL stream of the current context. Between two device places the host does not wait.
fn now(d: &mut Session, copy: Copy) -> Answer {
    let ctx = d.current()?;
    if copy.len == 0 {
        return Ok(());
    }
    let (dst, src) = check(d, ctx, copy)?;
    let null = d.contexts.get(ctx).map_or(0, |c| c.null);
    let end = |block, at| if block { End::Block(at) } else { End::Raw(at as usize) };
    let on_device = dst && src && Driver::is_device_address(copy.dst) && Driver::is_device_address(copy.src);
    d.enqueue(null, Kind::Copy { dst: end(dst, copy.dst), src: end(src, copy.src), len: copy.len });
    if on_device { Ok(()) } else { d.finish(null) }
}

fn plain(dst: u64, src: u64, len: usize, to: Side, from: Side) -> Copy {
    Copy { dst, src, len: len as u64, sides: (to, from), peers: None }
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

driver_calls! {
    /// Any to any.
    Queued cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) |d| {
        enqueue(d, stream, plain(dst, src, bytes, Side::Any, Side::Any))
    };

    /// Host to device.
    Queued cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream) |d| {
        enqueue(d, stream, plain(dst, address(src), bytes, Side::Device, Side::Host))
    };

    /// Device to host.
    Queued cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream) |d| {
        enqueue(d, stream, plain(address(dst), src, bytes, Side::Host, Side::Device))
    };

    /// Device to device.
    Queued cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) |d| {
        enqueue(d, stream, plain(dst, src, bytes, Side::Device, Side::Device))
    };

    /// Device to device, of two contexts.
    Queued cuMemcpyPeerAsync(
        dst: CUdeviceptr, dst_ctx: CUcontext, src: CUdeviceptr, src_ctx: CUcontext, bytes: usize, stream: CUstream,
    ) |d| {
        let copy = Copy { peers: Some((id(dst_ctx), id(src_ctx))), ..plain(dst, src, bytes, Side::Device, Side::Device) };
        enqueue(d, stream, copy)
    };

    /// Any to any, on the NULL stream.
    Call cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) |d| {
        now(d, plain(dst, src, bytes, Side::Any, Side::Any))
    };

    /// Host to device; the host waits.
    Call cuMemcpyHtoD_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize) |d| {
        now(d, plain(dst, address(src), bytes, Side::Device, Side::Host))
    };

    /// Device to host; the host waits.
    Call cuMemcpyDtoH_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize) |d| {
        now(d, plain(address(dst), src, bytes, Side::Host, Side::Device))
    };

    /// Device to device on the NULL stream; the host does not wait.
    Call cuMemcpyDtoD_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize) |d| {
        now(d, plain(dst, src, bytes, Side::Device, Side::Device))
    };

    /// Device to device, of two contexts, on the current one's NULL stream.
    Call cuMemcpyPeer(dst: CUdeviceptr, dst_ctx: CUcontext, src: CUdeviceptr, src_ctx: CUcontext, bytes: usize) |d| {
        now(d, Copy { peers: Some((id(dst_ctx), id(src_ctx))), ..plain(dst, src, bytes, Side::Device, Side::Device) })
    };
}
