//! Blocks of memory and the counts that keep them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
#[cfg(feature = "cuda")]
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::error::Error;
use crate::error::Memory;
use crate::stream::Event;

/// Every block starts at a multiple of this, so that vector code and symmetric copies run at full speed.
const BLOCK_ALIGN: usize = 64;

/// What the bytes of freed and never-written memory read as under chaos: a NaN as `f32` and `f64`, far from any
/// usual integer.
const POISON: u8 = 0xFF;

/// Which memory an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Pinned host memory of ours.
    Host,
    /// Device memory.
    Device,
    /// Pageable memory of the user, lent for a while. No block is that.
    Lent,
}

impl Place {
    /// As errors name it.
    pub(crate) fn memory(self) -> Memory {
        match self {
            Place::Device => Memory::Device,
            Place::Host | Place::Lent => Memory::Host,
        }
    }
}

/// One allocation, shared by all that view it.
pub(crate) struct Block {
    /// Buffers, pieces, shares and parked uses. The last one gives the memory back.
    holders: AtomicUsize,
    /// Handles of a shared device buffer; the reads that dropped handles left pending are in `ends`.
    handles: AtomicUsize,
    ends: Mutex<Vec<Event>>,
    base: NonNull<u8>,
    bytes: usize,
    /// Bytes that were asked for: what a whole buffer of this block has.
    used: usize,
    storage: Storage,
    place: Place,
    /// `None` while the block lies on its device's free list.
    device: Option<Device>,
}

/// Where a block's memory came from, and so how it goes back.
pub(crate) enum Storage {
    /// The system's allocator: what it gave, and for which layout.
    System(NonNull<u8>, Layout),
    /// The driver.
    #[cfg(feature = "cuda")]
    Driver(crate::cuda::Allocation),
}

// SAFETY: the block is plain data and atomics; its memory is used only through buffers, which carry their own bounds.
unsafe impl Send for Block {}
// SAFETY: as above; nothing in it changes behind `&` but atomics and what a mutex guards.
unsafe impl Sync for Block {}

impl Block {
    /// Asks the system for memory. All bytes are initialised, here and for good.
    pub(crate) fn from_system(place: Place, bytes: usize) -> Option<Box<Block>> {
        // Aligning by hand keeps the zeroing with the system, which has zeroed pages at hand; an over-aligned request
        // would be written twice.
        let layout = Layout::from_size_align(bytes.checked_add(BLOCK_ALIGN)?, 16).ok()?;
        // SAFETY: the layout's size is not zero (`BLOCK_ALIGN` is added to it).
        let raw = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skip = raw.as_ptr().align_offset(BLOCK_ALIGN);
        // SAFETY: `skip < BLOCK_ALIGN`, and the allocation is `BLOCK_ALIGN` larger than `bytes`.
        let base = unsafe { raw.add(skip) };
        Some(Block::new(place, base, bytes, Storage::System(raw, layout)))
    }

    #[allow(clippy::unnecessary_box_returns)] // a block is lent out by its address
    #[inline(always)] // so that it is made in its place
    pub(crate) fn new(place: Place, base: NonNull<u8>, bytes: usize, storage: Storage) -> Box<Block> {
        let room = room();
        let block = Block {
            holders: AtomicUsize::new(0),
            handles: AtomicUsize::new(0),
            ends: Mutex::new(Vec::new()),
            base,
            bytes,
            used: 0,
            storage,
            place,
            device: None,
        };
        Box::write(room, block)
    }

    /// Ends a block of memory that does not go back through it, and keeps the room it stood in for this thread's next one.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn end(mut self: Box<Block>) {
        debug_assert!(matches!(self.storage, Storage::Driver(crate::cuda::Allocation::Pool)));
        // What is left has nothing to drop.
        self.device = None;
        if self.ends().capacity() > 0 {
            *self.ends() = Vec::new();
        }
        // SAFETY: room for a block asks for nothing of what is in it.
        let room = unsafe { Box::from_raw(Box::into_raw(self).cast::<MaybeUninit<Block>>()) };
        // A thread whose locals are gone is at its end.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE_BLOCKS {
                spare.push(room);
            }
        });
    }

    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The ends of the reads that dropped handles left pending.
    #[inline]
    pub(crate) fn ends(&mut self) -> &mut Vec<Event> {
        self.ends.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn capacity(&self) -> usize {
        self.bytes
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Gives the memory up to somebody else, who frees it: the block no longer does.
    #[cfg(feature = "cuda")]
    pub(crate) fn disown(&mut self) -> NonNull<u8> {
        self.storage = Storage::Driver(crate::cuda::Allocation::Foreign);
        self.base
    }

    /// Overwrites everything, so that a read of freed or never-written memory shows.
    pub(crate) fn poison(&mut self) {
        // SAFETY: `base` is valid for `bytes` bytes (`from_system`), and nobody holds the block (`&mut`).
        unsafe { self.base.as_ptr().write_bytes(POISON, self.bytes) };
    }
}

/// Room for a block.
#[inline]
#[allow(clippy::unnecessary_box_returns)] // as above
fn room() -> Box<MaybeUninit<Block>> {
    #[cfg(feature = "cuda")]
    if let Ok(Some(room)) = SPARE.try_with(|spare| spare.borrow_mut().pop()) {
        return room;
    }
    Box::new_uninit()
}

/// What a thread keeps for blocks of memory that the driver frees in stream order: those are made and ended with each
/// buffer, while others lie on a device's free list in between.
#[cfg(feature = "cuda")]
const SPARE_BLOCKS: usize = 32;

#[cfg(feature = "cuda")]
thread_local! {
    #[allow(clippy::vec_box)] // a block does not move
    static SPARE: RefCell<Vec<Box<MaybeUninit<Block>>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Block {
    fn drop(&mut self) {
        match &self.storage {
            // SAFETY: `raw` came from `alloc_zeroed` with this layout and is freed only here.
            Storage::System(raw, layout) => unsafe { dealloc(raw.as_ptr(), *layout) },
            #[cfg(feature = "cuda")]
            Storage::Driver(allocation) => allocation.free(self.base),
        }
    }
}

/// One count of a block. The last one to go puts the block on its device's free list, on whatever thread that is: it
/// waits for nothing and calls no driver.
pub(crate) struct BlockRef(NonNull<Block>);

// SAFETY: a count is an atomic number and a pointer to a `Block`, which is `Send` and `Sync`.
unsafe impl Send for BlockRef {}
// SAFETY: as above.
unsafe impl Sync for BlockRef {}

impl BlockRef {
    /// Makes `block` live, with one count, for a buffer of `used` bytes.
    #[inline]
    pub(crate) fn new(mut block: Box<Block>, used: usize, device: Device) -> BlockRef {
        block.used = used;
        *block.holders.get_mut() = 1;
        *block.handles.get_mut() = 0;
        block.device = Some(device);
        BlockRef(NonNull::from(Box::leak(block)))
    }

    #[inline]
    fn block(&self) -> &Block {
        // SAFETY: a `BlockRef` is a count, and the block lives until the last count is gone.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.block().base
    }

    /// Bytes of a buffer that is the whole block.
    pub(crate) fn used(&self) -> usize {
        self.block().used
    }

    /// The device whose allocator made the block.
    #[inline]
    pub(crate) fn device(&self) -> &Device {
        self.block().device.as_ref().expect("a held block has its device")
    }

    pub(crate) fn same_block(&self, other: &BlockRef) -> bool {
        self.0 == other.0
    }

    /// Counts there are. A value of 1 is final for the one who holds it: what others did before they gave theirs up has
    /// happened.
    pub(crate) fn holders(&self) -> usize {
        self.block().holders.load(Ordering::Acquire)
    }

    /// Ends this count; the block itself if it was the last.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn into_last(self) -> Option<Box<Block>> {
        let this = std::mem::ManuallyDrop::new(self);
        if !this.give_up() {
            return None;
        }
        // SAFETY: as in `drop`, which does not run.
        Some(unsafe { Box::from_raw(this.0.as_ptr()) })
    }

    /// Ends the count, and says whether it was the last one.
    #[inline]
    fn give_up(&self) -> bool {
        let holders = &self.block().holders;
        // Acquire for the last one, and Release for the others: all uses of the memory happen before it goes to its next
        // owner. A count of 1 is this one, of which nobody else can make another.
        if holders.load(Ordering::Acquire) == 1 {
            return true;
        }
        if holders.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            return true;
        }
        false
    }

    /// Bytes of the block.
    #[cfg(feature = "cuda")]
    pub(crate) fn capacity(&self) -> usize {
        self.block().bytes
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn storage(&self) -> &Storage {
        &self.block().storage
    }

    /// Whether the last count to go frees the memory on its own stream at once, instead of parking it there.
    pub(crate) fn is_freed_in_order(&self) -> bool {
        match &self.block().storage {
            Storage::System(..) => false,
            #[cfg(feature = "cuda")]
            Storage::Driver(allocation) => matches!(allocation, crate::cuda::Allocation::Pool),
        }
    }

    /// Gives the count up without ending it, for `take_ptr`.
    pub(crate) fn into_raw(self) -> NonNull<Block> {
        std::mem::ManuallyDrop::new(self).0
    }

    /// Takes a count back.
    ///
    /// # Safety
    /// `block` came from [`BlockRef::into_raw`], and this is the one time that its count is taken back.
    pub(crate) unsafe fn from_raw(block: NonNull<Block>) -> BlockRef {
        BlockRef(block)
    }

    /// Adds a handle of a shared device buffer.
    pub(crate) fn add_handle(&self) {
        self.block().handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a handle whose last read is over when `end` fires.
    pub(crate) fn end_handle(&self, end: Event) {
        let block = self.block();
        {
            let mut ends = block.ends.lock().unwrap_or_else(PoisonError::into_inner);
            // A buffer that is shared for long must not collect the end of every read there ever was.
            // An event covers those before it on its stream.
            ends.retain(|event| !event.has_passed() && !event.is_before(&end));
            ends.push(end);
        }
        // Release: whoever sees the smaller count sees the event in the list.
        block.handles.fetch_sub(1, Ordering::Release);
    }

    pub(crate) fn handles(&self) -> usize {
        self.block().handles.load(Ordering::Acquire)
    }

    /// Ends the last handle: the block is unshared again.
    pub(crate) fn unshare(&self) {
        self.block().handles.store(0, Ordering::Relaxed);
    }

    /// Runs `f` over the events of the reads that dropped handles left, and forgets them if it succeeds.
    pub(crate) fn with_ends(&self, f: impl FnOnce(&[Event]) -> Result<(), Error>) -> Result<(), Error> {
        let mut ends = self.block().ends.lock().unwrap_or_else(PoisonError::into_inner);
        f(&ends)?;
        ends.clear();
        Ok(())
    }
}

impl Clone for BlockRef {
    fn clone(&self) -> BlockRef {
        self.block().holders.fetch_add(1, Ordering::Relaxed);
        BlockRef(self.0)
    }
}

impl Drop for BlockRef {
    fn drop(&mut self) {
        if self.give_up() {
            // SAFETY: the block came from `Box::leak` in `new`, and the count that ended was the last.
            let mut block = unsafe { Box::from_raw(self.0.as_ptr()) };
            block.ends().clear();
            if let Some(device) = block.device.take() {
                device.give_back(block);
            }
        }
    }
}
