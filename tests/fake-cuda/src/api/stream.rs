//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::*;
use crate::driver::{Capture, Driver, handle, id};
use crate::entry::{driver_calls, put};
use crate::op::{HostCall, Kind};

/// All that a stream has now, as an event recorded now would capture it.
fn now(d: &Driver, stream: u64) -> Capture {
    d.streams.get(stream).map_or_else(
        || Capture { stream, slot: 0, serial: 0, clock: std::sync::Arc::default() },
        |s| Capture { stream, slot: s.slot, serial: s.last, clock: s.clock.clone() },
    )
}

driver_calls! {
    /// A new stream of the current context.
    Call cuStreamCreate(stream: *mut CUstream, flags: c_uint) |d| {
        let ctx = d.current()?;
        if flags > STREAM_NON_BLOCKING {
            return Err(INVALID_VALUE);
        }
        let new = d.new_stream(ctx, flags, 0, false);
        put(stream, handle(new))
    };

    /// A new stream of the current context; the priority is clamped to the range.
    Call cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) |d| {
        let ctx = d.current()?;
        if flags > STREAM_NON_BLOCKING {
            return Err(INVALID_VALUE);
        }
        let new = d.new_stream(ctx, flags, priority.clamp(-5, 0), false);
        put(stream, handle(new))
    };

    /// Ends a stream; what it has enqueued still runs.
    Call cuStreamDestroy_v2(stream: CUstream) |d| {
        let stream = d.stream(stream)?;
        if let Some(row) = d.streams.get_mut(stream) {
            row.alive = false;
        }
        d.retire(stream);
        Ok(())
    };

    /// Waits for all that the stream has now.
    Call cuStreamSynchronize(stream: CUstream) |d| {
        let stream = d.stream(stream)?;
        d.finish(stream)
    };

    /// Whether all that the stream has now is over.
    Call cuStreamQuery(stream: CUstream) |d| {
        let stream = d.stream(stream)?;
        let (ctx, capture) = (d.ctx_of(stream), now(d, stream));
        d.poll(ctx, &capture)
    };

    /// What comes next on the stream waits for what the event captured last; for nothing if it was never recorded.
    Queued cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) |d| {
        let stream = d.stream(stream)?;
        let event = d.event(event)?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        if let Some(capture) = d.events.get(event).and_then(|e| e.capture.clone()) {
            d.await_capture(stream, &capture);
            crate::session::Session::changed();
        }
        Ok(())
    };

    /// The flags it was created with.
    Call cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) |d| {
        let stream = d.stream(stream)?;
        put(flags, d.streams.get(stream).map_or(0, |s| s.flags))
    };

    /// Its priority.
    Call cuStreamGetPriority(stream: CUstream, priority: *mut c_int) |d| {
        let stream = d.stream(stream)?;
        put(priority, d.streams.get(stream).map_or(0, |s| s.priority))
    };

    /// Its context.
    Call cuStreamGetCtx(stream: CUstream, pctx: *mut CUcontext) |d| {
        let stream = d.stream(stream)?;
        put(pctx, handle(d.ctx_of(stream)))
    };

    /// Calls a host function in stream order. It may not call the driver.
    Call cuLaunchHostFunc(stream: CUstream, function: CUhostFn, data: *mut c_void) |d| {
        let stream = d.stream(stream)?;
        let function = function.ok_or(INVALID_VALUE)?;
        d.enqueue(stream, Kind::Host(HostCall::Function(function, data.expose_provenance())));
        Ok(())
    };

    /// Calls a callback in stream order. It may not call the driver.
    Call cuStreamAddCallback(stream: CUstream, callback: CUstreamCallback, data: *mut c_void, flags: c_uint) |d| {
        let raw = id(stream);
        let stream = d.stream(stream)?;
        let callback = callback.filter(|_| flags == 0).ok_or(INVALID_VALUE)?;
        d.enqueue(stream, Kind::Host(HostCall::Callback(callback, raw, data.expose_provenance())));
        Ok(())
    };

    /// Never captures.
    Call cuStreamIsCapturing(stream: CUstream, status: *mut c_int) |d| {
        d.stream(stream)?;
        put(status, 0)
    };
}
