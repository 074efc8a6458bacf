//! Copies and fills: from operands to one operation.

use crate::block::Place;
use crate::context::DeviceContext;
use crate::error::{Error, Operation};
use crate::landing::Landings;
use crate::operand::Counted;
use crate::region::{Admitted, Candidate, admit};
use crate::stream::{Stream, not_on_worker};
use crate::tag::StreamTag;

/// Parks a count of a shared block when the call that reads it is over, whatever came of it.
///
/// The count is taken before the operation is enqueued, so the block outlives the caller's handle. It is parked after,
/// so a wait that covers the entry was issued behind the operation: parked before, a wait of another thread could cover
/// the entry and still miss the operation.
struct ParkAfter<'a> {
    stream: &'a Stream,
    count: Option<Counted>,
}

impl Drop for ParkAfter<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.count.take() {
            self.stream.park(count.0);
        }
    }
}

/// How an enqueue came out.
#[must_use]
pub(crate) struct Enqueued {
    pub(crate) result: Result<(), Error>,
    /// The driver or the worker was asked. Whatever it answered, it may have the operation, or a part of it, and it may
    /// be reporting something earlier: only what was never asked for is known not to be pending.
    pub(crate) asked: bool,
}

impl Enqueued {
    /// By a check, before anybody was asked.
    #[cold]
    fn refused(error: Error) -> Enqueued {
        Enqueued { result: Err(error), asked: false }
    }

    /// Nothing to do, done in its place in the stream: a wait for it says how the stream stands.
    fn nothing() -> Enqueued {
        Enqueued { result: Ok(()), asked: true }
    }
}

/// The value of a check, or the end of the function.
macro_rules! checked {
    ($check:expr) => {
        match $check {
            Ok(value) => value,
            Err(error) => return Enqueued::refused(error),
        }
    };
}

/// Enqueues a copy of `E`s on `ctx`. Both operands' streams are compared first, then the lengths.
#[inline(always)] // operands and result stay in registers, and what each call knows of its operands leaves one driver call
pub(crate) fn enqueue<E, S: StreamTag>(
    ctx: &DeviceContext<S>,
    dst: Candidate<'_>,
    src: Candidate<'_>,
    count: Option<Counted>,
) -> Enqueued {
    const OP: Operation = Operation::Copy;
    let (stream, landings) = (ctx.stream(), dst.landings());
    let dst = checked!(admit(OP, stream, dst));
    let src = checked!(admit(OP, stream, src));
    if dst.len != src.len {
        return Enqueued::refused(Error::Length { op: OP, dst: dst.len, src: src.len });
    }
    checked!(not_on_worker(OP));
    if dst.len == 0 {
        return Enqueued::nothing();
    }
    let _parked = ParkAfter { stream, count };
    // SAFETY: both operands were admitted to this stream and have `len` elements. They do not overlap: the destination
    // is owned or mutably borrowed by this call. They stay valid: device memory is freed in stream order, host memory
    // is in flight or counted until the stream has passed this, and lent memory is waited for by its scope, which also
    // ends the landings of what is lent to be written.
    Enqueued { result: unsafe { stream.copy(dst, src, dst.len * size_of::<E>(), landings) }, asked: true }
}

/// Enqueues a fill of `dst` with `value` on `ctx`.
#[inline(always)]
pub(crate) fn enqueue_fill<E: Copy, S: StreamTag>(ctx: &DeviceContext<S>, dst: Candidate<'_>, value: E) -> Enqueued {
    const OP: Operation = Operation::Fill;
    let dst = checked!(admit(OP, ctx.stream(), dst));
    checked!(not_on_worker(OP));
    if dst.len == 0 {
        return Enqueued::nothing();
    }
    // SAFETY: as for a copy; the destination has `len` elements of this type.
    Enqueued { result: unsafe { ctx.stream().fill(dst, value) }, asked: true }
}

/// Enqueues a copy between admitted memory and a pointer that the caller answers for.
///
/// # Safety
/// `ptr` is valid for as many elements as `operand` has, for writes if `to_ptr`, else for reads, does not overlap it,
/// and stays so until the stream has passed the copy; with `landings`, until those have ended.
pub(crate) unsafe fn enqueue_raw<E, S: StreamTag>(
    ctx: &DeviceContext<S>,
    operand: Candidate<'_>,
    ptr: *mut E,
    to_ptr: bool,
    landings: Option<&Landings>,
) -> Enqueued {
    const OP: Operation = Operation::Copy;
    let operand = checked!(admit(OP, ctx.stream(), operand));
    checked!(not_on_worker(OP));
    if operand.len == 0 {
        return Enqueued::nothing();
    }
    let other = Admitted { place: Place::Lent, ptr: ptr.cast(), len: operand.len };
    let (dst, src) = if to_ptr { (other, operand) } else { (operand, other) };
    // SAFETY: the operand as for a copy, the pointer by this function's contract.
    Enqueued { result: unsafe { ctx.stream().copy(dst, src, operand.len * size_of::<E>(), landings) }, asked: true }
}
