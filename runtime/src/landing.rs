//! Downloads to lent memory whose last step is the host's: from a staging block of ours to the slice, when the scope that
//! lent it has waited.

use std::sync::{Mutex, PoisonError};

use crate::block::BlockRef;
use crate::cpu::memory;
use crate::stream::Stream;

/// Threads that copy between pageable and pinned memory.
pub(crate) const THREADS: usize = 4;

/// What a scope has still to copy when its stream is done. It lies in the frame of the scope, where no user can forget it.
#[derive(Default)]
pub(crate) struct Landings(Mutex<List>);

#[derive(Default)]
struct List {
    landings: Vec<Landing>,
    bytes: usize,
}

struct Landing {
    to: *mut u8,
    bytes: usize,
    block: BlockRef,
}

// SAFETY: the pointer is to elements, which are `Send`, and used under the lock of the list only.
unsafe impl Send for Landing {}

impl Landings {
    /// Whether `bytes` more bytes stay within `most`, and there is a place for them in the list.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // the CPU device copies to lent memory by itself
    pub(crate) fn admit(&self, bytes: usize, most: usize) -> bool {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.landings.reserve(1);
        list.bytes.checked_add(bytes).is_some_and(|all| all <= most)
    }

    /// Notes that the first `bytes` bytes of `block` are to be copied to `to`, when the scope has waited.
    ///
    /// # Safety
    /// The block has as many bytes, which the scope's stream writes before it passes what was enqueued by now. The memory
    /// at `to` is valid for writes, and nobody else's, until [`Landings::end`] or [`Landings::give_up`] has returned.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) unsafe fn add(&self, to: *mut u8, bytes: usize, block: BlockRef) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.bytes += bytes;
        list.landings.push(Landing { to, bytes, block });
    }

    /// Copies everything. A wait that was issued behind all of it has succeeded, so the blocks are free again, too.
    pub(crate) fn end(&self) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.bytes = 0;
        for Landing { to, bytes, block } in list.landings.drain(..) {
            // SAFETY: `add`'s contract: the stream has written the block, and the destination is for us to write. They are
            // two allocations, so they do not overlap.
            unsafe { memory::copy(to, block.base().as_ptr(), bytes, THREADS) };
        }
    }

    /// Copies nothing: the wait failed, so `stream` may go on writing to the blocks, and keeps them.
    pub(crate) fn give_up(&self, stream: &Stream) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.bytes = 0;
        for landing in list.landings.drain(..) {
            stream.park(landing.block);
        }
    }
}
