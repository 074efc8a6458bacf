//! Events.

use std::ffi::c_uint;

use crate::abi::*;
use crate::driver::{Capture, Event, handle};
use crate::entry::{Answer, driver_calls, put};
use crate::op::Kind;
use crate::report;
use crate::session::Session;

fn record(d: &mut Session, event: CUevent, stream: CUstream) -> Answer {
    let stream = d.stream(stream)?;
    let event = d.event(event)?;
    let ctx = d.ctx_of(stream);
    if d.events.get(event).is_some_and(|e| e.ctx != ctx) {
        d.complain(report::Kind::WrongContext, "records an event of one context on a stream of another");
        return Err(INVALID_HANDLE);
    }
    // The capture must be there before the operation can run, and needs its serial.
    let serial = d.enqueue(stream, Kind::Record { event });
    let capture = d.streams.get(stream).map(|s| Capture { stream, slot: s.slot, serial, clock: s.clock.clone() });
    if let Some(event) = d.events.get_mut(event) {
        event.capture = capture;
        event.time = None;
    }
    Ok(())
}

driver_calls! {
    /// A new event of the current context.
    Call cuEventCreate(event: *mut CUevent, flags: c_uint) |d| {
        let ctx = d.current()?;
        if flags > 7 {
            return Err(INVALID_VALUE);
        }
        let new = d.events.insert(Event { ctx, flags, capture: None, time: None });
        put(event, handle(new))
    };

    /// The event captures all that the stream has now, in place of what it captured before. Waits enqueued before
    /// keep theirs.
    Queued cuEventRecord(event: CUevent, stream: CUstream) |d| record(d, event, stream);

    /// As `cuEventRecord`; the flags matter in graphs only.
    Queued cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint) |d| {
        if flags > 1 { Err(INVALID_VALUE) } else { record(d, event, stream) }
    };

    /// Whether what it captured is over; true if it was never recorded.
    Call cuEventQuery(event: CUevent) |d| {
        let event = d.event(event)?;
        match d.events.get(event).map(|e| (e.ctx, e.capture.clone())) {
            Some((ctx, Some(capture))) => d.poll(ctx, &capture),
            _ => Ok(()),
        }
    };

    /// Waits for what it captured; for nothing if it was never recorded.
    Call cuEventSynchronize(event: CUevent) |d| {
        let event = d.event(event)?;
        match d.events.get(event).map(|e| (e.ctx, e.capture.clone())) {
            Some((ctx, Some(capture))) => d.finish_capture(ctx, &capture),
            _ => Ok(()),
        }
    };

    /// Ends an event; waits for it go on.
    Call cuEventDestroy_v2(event: CUevent) |d| {
        let event = d.event(event)?;
        d.events.remove(event);
        Ok(())
    };

    /// The time between two events that are over.
    Call cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) |d| {
        let (start, end) = (d.event(start)?, d.event(end)?);
        let (Some(a), Some(b)) = (d.events.get(start), d.events.get(end)) else { return Err(INVALID_HANDLE) };
        if (a.flags | b.flags) & EVENT_DISABLE_TIMING != 0 || a.capture.is_none() || b.capture.is_none() {
            return Err(INVALID_HANDLE);
        }
        let (Some(from), Some(to)) = (a.time, b.time) else { return Err(NOT_READY) };
        let span = if to >= from { (to - from).as_secs_f32() } else { -(from - to).as_secs_f32() };
        put(milliseconds, span * 1e3)
    };
}
