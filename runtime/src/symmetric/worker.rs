//! Functions that run in the order of a job's stream: on its worker, or on the PE's thread where the stream stands still.

use std::ptr::NonNull;

use super::wire::Wire;
use crate::error::{Error, Operation, PeFailure};
use crate::op::{Call, Packed};
use crate::stream::Stream;

/// Bytes whose copy takes no longer than handing it to another thread, which sleeps where its stream stands still: 1 us.
const SHORT: usize = 32 << 10;

/// A function of the worker with what it captured.
#[derive(Clone, Copy)]
struct Sent<F> {
    wire: NonNull<Wire>,
    f: F,
}

/// # Safety
/// `args` points to a `Sent<F>`, whose wire is there and this worker's own.
unsafe fn run<F: Fn(&Wire) -> Result<(), Error> + Copy>(args: *const u8) -> Result<(), Error> {
    // SAFETY: the caller's duty.
    let sent = unsafe { &*args.cast::<Sent<F>>() };
    // SAFETY: the caller's duty.
    let wire = unsafe { sent.wire.as_ref() };
    wire.transport().check()?;
    (sent.f)(wire)
}

/// The stream has failed, so this PE does not come to its call: the others are told, who may be waiting for it.
///
/// # Safety
/// As for `run`.
unsafe fn skip<F>(args: *const u8, failure: &Error) {
    // SAFETY: the caller's duty.
    let wire = unsafe { (*args.cast::<Sent<F>>()).wire.as_ref() };
    wire.transport().fail(&failure_of(wire, failure));
}

/// What the job fails with because of an error of this PE.
pub(super) fn failure_of(wire: &Wire, error: &Error) -> Error {
    match error {
        Error::PeFailed(_) | Error::Diverged(_) => error.clone(),
        error => Error::PeFailed(PeFailure { pe: wire.transport().me(), message: error.to_string() }.into()),
    }
}

/// Enqueues `f` on the job's stream.
///
/// # Safety
/// What `f` points to stays valid until the stream has passed it. The frame of `launch` keeps `wire` until then.
#[inline]
pub(super) unsafe fn enqueue<F>(wire: &Wire, stream: &Stream, op: Operation, f: F) -> Result<(), Error>
where
    F: Fn(&Wire) -> Result<(), Error> + Copy,
{
    ask(wire)?;
    let sent = Sent { wire: NonNull::from(wire), f };
    // SAFETY: the arguments are those of `run::<F>`; the rest is the caller's duty.
    unsafe { stream.call(op, Call { run: run::<F>, skip: skip::<F>, args: Packed::new(sent) }) }
}

/// As [`enqueue`], for what waits for nobody and moves `bytes` bytes: few are moved at once if the stream stands still.
///
/// # Safety
/// As for [`enqueue`].
#[inline]
pub(super) unsafe fn enqueue_short<F>(
    wire: &Wire,
    stream: &Stream,
    op: Operation,
    bytes: usize,
    f: F,
) -> Result<(), Error>
where
    F: Fn(&Wire) -> Result<(), Error> + Copy,
{
    if bytes <= SHORT && wire.transport().is_quick() {
        ask(wire)?;
        if let Some(done) = stream.run_here(|| f(wire)) {
            return done;
        }
    }
    // SAFETY: passed on to the caller.
    unsafe { enqueue(wire, stream, op, f) }
}

/// Notes a call of the PE's thread; an error if the job is over.
#[inline]
fn ask(wire: &Wire) -> Result<(), Error> {
    super::announce_panic(); // while unwinding, from a drop of the user's
    wire.transport().called();
    wire.transport().check()
}

/// # Safety
/// As for `run`.
unsafe fn over<F>(args: *const u8) -> Result<(), Error> {
    // SAFETY: the caller's duty.
    let wire = unsafe { (*args.cast::<Sent<F>>()).wire.as_ref() };
    wire.transport().check()
}

/// Makes the stream of a job that is over fail at this point, also if this PE's calls were refused before they got there.
pub(super) fn fail(wire: &Wire, stream: &Stream, op: Operation) {
    let args = Packed::new(Sent { wire: NonNull::from(wire), f: () });
    // SAFETY: the arguments are those of both functions, and `launch` keeps the wire until the stream has passed this. A call
    // that is refused leaves the stream as it is.
    let _ = unsafe { stream.call(op, Call { run: over::<()>, skip: skip::<()>, args }) };
}

/// Runs `f` as an operation of the job's stream, in its turn, and waits for it. **Blocks.**
pub(super) fn run_on_stream<R, F>(wire: &Wire, stream: &Stream, op: Operation, f: F) -> Result<R, Error>
where
    F: Fn(&Wire) -> Result<R, Error>,
{
    ask(wire)?;
    if let Some(result) = stream.run_here(|| f(wire)) {
        return result;
    }
    let mut result: Option<R> = None;
    let (slot, f) = (NonNull::from(&mut result), NonNull::from(&f));
    let call = move |wire: &Wire| {
        // SAFETY: both lie in the frame below, which waits until the stream has passed this.
        let value = unsafe { f.as_ref() }(wire)?;
        // SAFETY: as above; the frame reads it after the wait.
        unsafe { *slot.as_ptr() = Some(value) };
        Ok(())
    };
    // SAFETY: what `call` points to is in this frame, which does not end before the wait: a wait on a stream of the CPU
    // device has waited when it returns, unless this is a worker, and then nothing was enqueued.
    unsafe { enqueue(wire, stream, op, call) }?;
    let waited = stream.synchronize(op);
    match result {
        Some(value) => Ok(value),
        None => Err(waited.err().unwrap_or(Error::Refused { op, why: "it did not run" })),
    }
}
