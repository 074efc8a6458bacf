//! From calls of a PE's thread to operations of its stream.

use std::ptr::NonNull;

use super::card::Card;
use super::transport::{Alloc, Target};
use super::wire::Wire;
use crate::error::{Error, Operation};
use crate::op::{Call, Packed};
use crate::stream::Stream;

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

/// Enqueues `f` on the job's stream.
///
/// # Safety
/// What `f` points to stays valid until the stream has passed it. The frame of `launch` keeps `wire` until then.
#[inline]
pub(super) unsafe fn enqueue<F>(wire: &Wire, stream: &Stream, op: Operation, f: F) -> Result<(), Error>
where
    F: Fn(&Wire) -> Result<(), Error> + Copy,
{
    wire.transport().called();
    wire.transport().check()?;
    let sent = Sent { wire: NonNull::from(wire), f };
    // SAFETY: the arguments are those of `run::<F>`; the rest is the caller's duty.
    unsafe { stream.call(op, Call { run: run::<F>, args: Packed::new(sent) }) }
}

/// As [`enqueue`], for what takes no longer than enqueuing it: it is done at once if the stream stands still.
///
/// # Safety
/// As for [`enqueue`].
#[inline]
pub(super) unsafe fn enqueue_short<F>(wire: &Wire, stream: &Stream, op: Operation, f: F) -> Result<(), Error>
where
    F: Fn(&Wire) -> Result<(), Error> + Copy,
{
    if wire.transport().is_quick() {
        wire.transport().called();
        wire.transport().check()?;
        if let Some(done) = stream.run_here(|| f(wire)) {
            return done;
        }
    }
    // SAFETY: passed on to the caller.
    unsafe { enqueue(wire, stream, op, f) }
}

/// Runs `f` as an operation of the job's stream, in its turn, and waits for it. **Blocks.**
pub(super) fn run_on_stream<R, F>(wire: &Wire, stream: &Stream, op: Operation, f: F) -> Result<R, Error>
where
    F: Fn(&Wire) -> Result<R, Error>,
{
    wire.transport().called();
    wire.transport().check()?;
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

/// Enqueues an agreement of all PEs of `team`, which is a barrier of them.
///
/// # Safety
/// `team` lives as long as the job.
pub(super) unsafe fn agree(wire: &Wire, stream: &Stream, op: Operation, team: &[u32], card: Card) -> Result<(), Error> {
    let team = NonNull::from(team);
    // SAFETY: the caller's duty.
    unsafe { enqueue(wire, stream, op, move |wire| wire.agree(team.as_ref(), &card)) }
}

/// An allocation that belongs to a value of the job; `None` has no bytes.
pub(crate) type Entry = Option<NonNull<Alloc>>;

/// The place of an address in an allocation; a place that nobody uses if there is none.
pub(super) fn target(entry: Entry, address: *mut u8) -> Option<Target> {
    entry.map(|alloc| Target::new(alloc, address))
}
