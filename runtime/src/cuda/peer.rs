//! Copies between GPUs.

use std::sync::Arc;

use super::check;
use super::core::Core;
use super::event::Event;
use super::memory::address;
use super::raw;
use crate::block::BlockRef;
use crate::error::{Error, Operation};
use crate::region::Admitted;

impl Core {
    /// Enqueues a copy from memory of the stream `from`, with an edge from there before it and one back behind it.
    ///
    /// The source is borrowed for the call only, so when this returns its stream must be behind the copy. Whatever the
    /// copy answers, it may have been enqueued, so the edge back is made; its event is there before the copy. If the edge
    /// fails, the host waits for the copy instead. If that fails too, when the copy ends cannot be told: a count of each
    /// block is leaked, so that the memory is never freed and has no next owner. Later writes to the source may then
    /// meet the copy, whose destination holds no promised value after the error.
    ///
    /// # Safety
    /// As for [`Stream::copy_peer`](crate::stream::Stream::copy_peer).
    pub(crate) unsafe fn copy_peer(
        self: &Arc<Self>,
        from: &Arc<Core>,
        dst: Admitted,
        src: Admitted,
        bytes: usize,
        blocks: [&BlockRef; 2],
    ) -> Result<(), Error> {
        const OP: Operation = Operation::Copy;
        let (here, there) = (self.device(), from.device());
        self.wait_for(OP, &Event::record(from)?)?;
        let after = here.take_event()?;
        let copied = if std::ptr::eq(here, there) {
            // SAFETY: this function's contract; both are memory of the one device.
            unsafe { self.copy(dst, src, bytes, None) }
        } else {
            let (to, at) = (address(dst.ptr), address(src.ptr));
            // SAFETY: this function's contract; each address is of the context beside it.
            let code = here.call_copy(|| unsafe {
                raw::cuMemcpyPeerAsync(to, here.context(), at, there.context(), bytes, self.raw())
            });
            check(OP, code)
        };
        // SAFETY: both handles live and are of one device, and the event is nobody else's.
        let mut edge = here.call(|| unsafe { raw::cuEventRecord(after, self.raw()) });
        if edge == 0 {
            // SAFETY: both handles live, and the event is recorded.
            edge = there.call(|| unsafe { raw::cuStreamWaitEvent(from.raw(), after, 0) });
        }
        if edge == 0 {
            here.put_event(after);
            return copied;
        }
        here.destroy_event(after);
        let waited = self.synchronize(OP);
        if waited.is_err() {
            for block in blocks {
                std::mem::forget(block.clone());
            }
        }
        copied.and(waited)
    }
}
