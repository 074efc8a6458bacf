//! Blocks that nobody uses, kept for the next buffer of their size.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::block::{Block, Place};

/// Bytes that a device keeps; a block that would exceed it goes back to where it came from.
const KEPT_BYTES: usize = 512 << 20;

/// A device's free blocks, and how much its buffers hold. A lock, held for a push or a pop only, so a drop never waits
/// for work.
pub(crate) struct FreeList {
    #[allow(clippy::vec_box)] // a block does not move while it is free: it is lent out by its address
    blocks: Mutex<Vec<Box<Block>>>,
    kept: AtomicUsize,
    held: AtomicUsize,
}

impl FreeList {
    pub(crate) fn new() -> FreeList {
        FreeList { blocks: Mutex::new(Vec::new()), kept: AtomicUsize::new(0), held: AtomicUsize::new(0) }
    }

    /// Bytes in live buffers and parked blocks.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts a block that did not come from here as live.
    pub(crate) fn lend(&self, bytes: usize) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a block that does not come back here as gone.
    pub(crate) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A free block of exactly `class` bytes.
    pub(crate) fn take(&self, place: Place, class: usize) -> Option<Box<Block>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest first: its memory is the likeliest to be in a cache.
        let at = blocks.iter().rposition(|block| block.place() == place && block.capacity() == class)?;
        let block = blocks.swap_remove(at);
        drop(blocks);
        self.kept.fetch_sub(class, Ordering::Relaxed);
        self.lend(class);
        Some(block)
    }

    /// Takes back a block whose last count is gone. Gives it back if there are enough.
    pub(crate) fn put(&self, block: Box<Block>) -> Result<(), Box<Block>> {
        let bytes = block.capacity();
        self.release(bytes);
        if self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
            return Err(block);
        }
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(())
    }

    /// Keeps a block although there are enough.
    #[cfg(feature = "cuda")]
    pub(crate) fn keep(&self, block: Box<Block>) {
        self.kept.fetch_add(block.capacity(), Ordering::Relaxed);
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).push(block);
    }

    /// All free blocks.
    #[allow(clippy::vec_box)]
    pub(crate) fn drain(&self) -> Vec<Box<Block>> {
        let blocks = std::mem::take(&mut *self.blocks.lock().unwrap_or_else(PoisonError::into_inner));
        let bytes: usize = blocks.iter().map(|block| block.capacity()).sum();
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
        blocks
    }
}

/// The size that a request is served with: four classes to a doubling, so at most a quarter is unused.
pub(crate) fn size_class(bytes: usize) -> Option<usize> {
    let step = (bytes.max(256).checked_next_power_of_two()? / 8).max(64);
    bytes.max(64).checked_next_multiple_of(step).filter(|&class| isize::try_from(class).is_ok())
}
