//! Copies and fills: from operands to one operation.

use crate::block::Place;
use crate::context::DeviceContext;
use crate::error::{Error, Operation};
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

/// Enqueues a copy of `E`s on `ctx`. Both operands' streams are compared first, then the lengths.
#[inline]
pub(crate) fn enqueue<E, S: StreamTag>(
    ctx: &DeviceContext<S>,
    dst: Candidate<'_>,
    src: Candidate<'_>,
    count: Option<Counted>,
) -> Result<(), Error> {
    const OP: Operation = Operation::Copy;
    let stream = ctx.stream();
    let dst = admit(OP, stream, dst)?;
    let src = admit(OP, stream, src)?;
    if dst.len != src.len {
        return Err(Error::Length { op: OP, dst: dst.len, src: src.len });
    }
    if dst.len == 0 {
        return not_on_worker(OP);
    }
    let _parked = ParkAfter { stream, count };
    // SAFETY: both operands were admitted to this stream and have `len` elements. They do not overlap: the destination
    // is owned or mutably borrowed by this call. They stay valid: device memory is freed in stream order, host memory
    // is in flight or counted until the stream has passed this, and lent memory is waited for by its scope.
    unsafe { stream.copy(dst, src, dst.len * size_of::<E>()) }
}

/// Enqueues a fill of `dst` with `value` on `ctx`.
pub(crate) fn enqueue_fill<E: Copy, S: StreamTag>(
    ctx: &DeviceContext<S>,
    dst: Candidate<'_>,
    value: E,
) -> Result<(), Error> {
    const OP: Operation = Operation::Fill;
    let dst = admit(OP, ctx.stream(), dst)?;
    if dst.len == 0 {
        return not_on_worker(OP);
    }
    // SAFETY: as for a copy; the destination has `len` elements of this type.
    unsafe { ctx.stream().fill(dst, value) }
}

/// Enqueues a copy between admitted memory and a pointer that the caller answers for.
///
/// # Safety
/// `ptr` is valid for as many elements as `operand` has, for writes if `to_ptr`, else for reads, does not overlap it,
/// and stays so until the stream has passed the copy.
pub(crate) unsafe fn enqueue_raw<E, S: StreamTag>(
    ctx: &DeviceContext<S>,
    operand: Candidate<'_>,
    ptr: *mut E,
    to_ptr: bool,
) -> Result<(), Error> {
    const OP: Operation = Operation::Copy;
    let operand = admit(OP, ctx.stream(), operand)?;
    if operand.len == 0 {
        return not_on_worker(OP);
    }
    let other = Admitted { place: Place::Lent, ptr: ptr.cast(), len: operand.len };
    let (dst, src) = if to_ptr { (other, operand) } else { (operand, other) };
    // SAFETY: the operand as for a copy, the pointer by this function's contract.
    unsafe { ctx.stream().copy(dst, src, operand.len * size_of::<E>()) }
}
