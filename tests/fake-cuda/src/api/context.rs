//! Contexts: primary ones, created ones, and which is current on a thread.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};

use crate::abi::*;
use crate::driver::{Context, Driver, handle, id};
use crate::entry::{Answer, driver_calls, put};
use crate::session::Session;

thread_local! {
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The thread's current context, 0 for none (also while the thread ends).
pub(crate) fn current() -> u64 {
    STACK.try_with(|stack| stack.borrow().last().copied().unwrap_or(0)).unwrap_or(0)
}

fn with_stack<R>(f: impl FnOnce(&mut Vec<u64>) -> R) -> Result<R, CUresult> {
    STACK.try_with(|stack| f(&mut stack.borrow_mut())).map_err(|_| DEINITIALIZED)
}

impl Driver {
    fn new_context(&mut self, device: i32, flags: u32) -> u64 {
        let ctx = self.contexts.insert(Context { device, flags, sticky: None, null: 0, peers: Vec::new() });
        let null = self.new_stream(ctx, 0, 0, true);
        if let Some(context) = self.contexts.get_mut(ctx) {
            context.null = null;
        }
        ctx
    }

    fn context(&mut self, ctx: CUcontext) -> Result<u64, CUresult> {
        let ctx = id(ctx);
        if self.contexts.get(ctx).is_some() { Ok(ctx) } else { Err(self.bad_context(ctx)) }
    }

    fn bad_context(&mut self, ctx: u64) -> CUresult {
        self.bad_handle("context", ctx);
        INVALID_CONTEXT
    }
}

/// Ends a context with all that belongs to it, once its work has run.
pub(crate) fn destroy(d: &mut Session, ctx: u64) {
    let streams: Vec<_> = d.streams.iter().filter(|(_, s)| s.ctx == ctx).map(|(s, row)| (s, row.last)).collect();
    for (stream, last) in streams {
        d.run(stream, last);
        if let Some(row) = d.streams.get_mut(stream) {
            row.alive = false;
        }
        d.retire(stream);
    }
    let events: Vec<_> = d.events.iter().filter(|(_, e)| e.ctx == ctx).map(|(e, _)| e).collect();
    for event in events {
        d.events.remove(event);
    }
    let modules: Vec<_> = d.modules.iter().filter(|(_, m)| m.ctx == ctx).map(|(m, _)| m).collect();
    for module in modules {
        d.unload(module);
    }
    let blocks: Vec<_> = d.memory.iter().filter(|b| b.ctx == ctx).map(|b| b.base).collect();
    for base in blocks {
        d.free_block(base);
    }
    d.contexts.remove(ctx);
    for device in &mut d.devices {
        if device.primary == ctx {
            device.primary = 0;
        }
    }
}

fn enable_peer(d: &mut Driver, peer: CUcontext, on: bool) -> Answer {
    let ctx = d.current()?;
    let peer = d.context(peer)?;
    let devices = [ctx, peer].map(|c| d.contexts.get(c).map(|c| c.device));
    if devices[0] == devices[1] {
        return Err(INVALID_DEVICE);
    }
    let peers = &mut d.contexts.get_mut(ctx).ok_or(INVALID_CONTEXT)?.peers;
    match (peers.iter().position(|p| *p == peer), on) {
        (None, true) => peers.push(peer),
        (Some(at), false) => drop(peers.swap_remove(at)),
        (Some(_), true) => return Err(PEER_ACCESS_ALREADY_ENABLED),
        (None, false) => return Err(PEER_ACCESS_NOT_ENABLED),
    }
    Ok(())
}

driver_calls! {
    /// Counts one more user of the device's primary context, and makes it at the first.
    Call cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice) |d| {
        let flags = d.device(dev)?.primary_flags;
        if d.device(dev)?.primary == 0 {
            let ctx = d.new_context(dev, flags);
            d.device(dev)?.primary = ctx;
        }
        let device = d.device(dev)?;
        device.retained += 1;
        put(pctx, handle(device.primary))
    };

    /// Counts one user less; the last one ends the context.
    Call cuDevicePrimaryCtxRelease_v2(dev: CUdevice) |d| {
        let device = d.device(dev)?;
        if device.retained == 0 {
            return Err(INVALID_CONTEXT);
        }
        device.retained -= 1;
        let (left, ctx) = (device.retained, device.primary);
        if left == 0 {
            destroy(d, ctx);
        }
        Ok(())
    };

    /// Ends the primary context whoever uses it.
    Call cuDevicePrimaryCtxReset_v2(dev: CUdevice) |d| {
        let ctx = d.device(dev)?.primary;
        d.device(dev)?.retained = 0;
        if ctx != 0 {
            destroy(d, ctx);
        }
        Ok(())
    };

    /// The primary context's flags, and whether it is there.
    Call cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut c_uint, active: *mut c_int) |d| {
        let device = d.device(dev)?;
        put(flags, device.primary_flags)?;
        put(active, c_int::from(device.primary != 0))
    };

    /// Sets the primary context's flags.
    Call cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint) |d| {
        let device = d.device(dev)?;
        device.primary_flags = flags;
        let ctx = device.primary;
        if let Some(context) = d.contexts.get_mut(ctx) {
            context.flags = flags;
        }
        Ok(())
    };

    /// A context of one's own, made current.
    Call cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice) |d| {
        d.device(dev)?;
        let ctx = d.new_context(dev, flags);
        with_stack(|stack| stack.push(ctx))?;
        put(pctx, handle(ctx))
    };

    /// Ends a context.
    Call cuCtxDestroy_v2(ctx: CUcontext) |d| {
        let ctx = d.context(ctx)?;
        destroy(d, ctx);
        with_stack(|stack| {
            stack.pop_if(|top| *top == ctx);
        })
    };

    /// Replaces the thread's current context; NULL takes it away.
    Call cuCtxSetCurrent(ctx: CUcontext) |d| {
        let new = if ctx.is_null() { 0 } else { d.context(ctx)? };
        with_stack(|stack| {
            stack.pop();
            if new != 0 {
                stack.push(new);
            }
        })
    };

    /// The thread's current context, or NULL.
    Call cuCtxGetCurrent(pctx: *mut CUcontext) |_d| put(pctx, handle(current()));

    /// Makes a context current over the one before.
    Call cuCtxPushCurrent_v2(ctx: CUcontext) |d| {
        let ctx = d.context(ctx)?;
        with_stack(|stack| stack.push(ctx))
    };

    /// Takes the current context off.
    Call cuCtxPopCurrent_v2(pctx: *mut CUcontext) |_d| {
        let ctx = with_stack(Vec::pop)?.ok_or(INVALID_CONTEXT)?;
        if pctx.is_null() { Ok(()) } else { put(pctx, handle(ctx)) }
    };

    /// The current context's device.
    Call cuCtxGetDevice(device: *mut CUdevice) |d| {
        let ctx = current();
        let ordinal = d.contexts.get(ctx).map(|c| c.device).ok_or(INVALID_CONTEXT)?;
        put(device, ordinal)
    };

    /// The current context's flags.
    Call cuCtxGetFlags(flags: *mut c_uint) |d| {
        let ctx = d.current()?;
        put(flags, d.contexts.get(ctx).map_or(0, |c| c.flags))
    };

    /// Waits for all streams of the current context.
    Call cuCtxSynchronize() |d| {
        let ctx = d.current()?;
        let all: Vec<_> = d.streams.iter().filter(|(_, s)| s.ctx == ctx).map(|(s, _)| s).collect();
        all.into_iter().try_for_each(|stream| d.finish(stream))
    };

    /// The version that the context was made for.
    Call cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint) |d| {
        if !ctx.is_null() {
            d.context(ctx)?;
        }
        put(version, 3020)
    };

    /// 0 to -5.
    Call cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) |d| {
        d.current()?;
        if !least.is_null() {
            put(least, 0)?;
        }
        if greatest.is_null() { Ok(()) } else { put(greatest, -5) }
    };

    /// Lets the current context use the peer's memory.
    Call cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) |d| {
        if flags == 0 { enable_peer(d, peer, true) } else { Err(INVALID_VALUE) }
    };

    /// Takes the permission away.
    Call cuCtxDisablePeerAccess(peer: CUcontext) |d| enable_peer(d, peer, false);

    /// Accepted and forgotten.
    Call cuCtxSetLimit(limit: c_int, value: usize) |d| {
        d.current().and(if limit < 0 || value > isize::MAX as usize { Err(INVALID_VALUE) } else { Ok(()) })
    };

    /// Always 0.
    Call cuCtxGetLimit(value: *mut usize, limit: c_int) |d| {
        d.current().map(|_| ()).and_then(|()| if limit < 0 { Err(INVALID_VALUE) } else { put(value, 0) })
    };

    /// Always 0, no preference.
    Call cuCtxGetCacheConfig(config: *mut c_int) |d| d.current().map(|_| ()).and_then(|()| put(config, 0));

    /// Accepted and forgotten.
    Call cuCtxSetCacheConfig(config: c_int) |d| d.current().and(if config < 0 { Err(INVALID_VALUE) } else { Ok(()) });
}
