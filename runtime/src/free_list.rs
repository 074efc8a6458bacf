//! Blocks that nobody uses, kept for the next buffer of their size.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::block::{Block, Place};

/// Bytes that a device keeps; a block that would exceed it goes back to where it came from.
const KEPT_BYTES: usize = 512 << 20;

/// A device's free blocks, and how much its buffers hold. A lock, held for a push or a pop only, so a drop never waits
/// for work.
pub(crate) struct FreeList(Mutex<List>);

/// The counts lie under the lock of the blocks: counts of their own would cost more than all of the rest.
struct List {
    #[allow(clippy::vec_box)] // a block does not move while it is free: it is lent out by its address
    blocks: Vec<Box<Block>>,
    /// Bytes of the blocks.
    kept: usize,
    /// Bytes in live buffers and parked blocks.
    held: usize,
}

impl FreeList {
    pub(crate) fn new() -> FreeList {
        FreeList(Mutex::new(List { blocks: Vec::new(), kept: 0, held: 0 }))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes in live buffers and parked blocks.
    pub(crate) fn held(&self) -> usize {
        self.lock().held
    }

    /// Counts a block that did not come from here as live.
    pub(crate) fn lend(&self, bytes: usize) {
        self.lock().held += bytes;
    }

    /// Counts a block that does not come back here as gone.
    #[cfg(feature = "cuda")]
    pub(crate) fn release(&self, bytes: usize) {
        let mut list = self.lock();
        list.held = list.held.saturating_sub(bytes);
    }

    /// A free block of exactly `class` bytes.
    pub(crate) fn take(&self, place: Place, class: usize) -> Option<Box<Block>> {
        let mut list = self.lock();
        // The newest first: its memory is the likeliest to be in a cache.
        let at = list.blocks.iter().rposition(|block| block.place() == place && block.capacity() == class)?;
        let block = list.blocks.swap_remove(at);
        list.kept -= class;
        list.held += class;
        Some(block)
    }

    /// Takes back a block whose last count is gone. Gives it back if there are enough.
    pub(crate) fn put(&self, block: Box<Block>) -> Result<(), Box<Block>> {
        let bytes = block.capacity();
        let mut list = self.lock();
        list.held = list.held.saturating_sub(bytes);
        if list.kept + bytes > KEPT_BYTES {
            return Err(block);
        }
        list.kept += bytes;
        list.blocks.push(block);
        Ok(())
    }

    /// Keeps a block although there are enough.
    #[cfg(feature = "cuda")]
    pub(crate) fn keep(&self, block: Box<Block>) {
        let mut list = self.lock();
        list.kept += block.capacity();
        list.blocks.push(block);
    }

    /// All free blocks.
    #[allow(clippy::vec_box)]
    pub(crate) fn drain(&self) -> Vec<Box<Block>> {
        let mut list = self.lock();
        list.kept = 0;
        std::mem::take(&mut list.blocks)
    }
}

/// The size that a request is served with: four classes to a doubling, so at most a quarter is unused.
pub(crate) fn size_class(bytes: usize) -> Option<usize> {
    let step = (bytes.max(256).checked_next_power_of_two()? / 8).max(64);
    bytes.max(64).checked_next_multiple_of(step).filter(|&class| isize::try_from(class).is_ok())
}
