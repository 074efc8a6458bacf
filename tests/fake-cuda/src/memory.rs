//! Blocks: device memory, pinned host memory and registered host memory.
//!
//! Device addresses are numbers of their own, never given out twice and never valid for the host: a host access
//! faults, and a use after free is always seen, even when the real allocator would have given the memory to someone
//! else.

use std::alloc::Layout;
use std::collections::BTreeMap;

use crate::shadow::{Access, Shadow};

/// Non-canonical on x86-64 and aarch64, so dereferencing it on the host faults.
pub(crate) const DEVICE_BASE: u64 = 0x00D0_0000_0000_0000;
/// What a new device block is filled with.
pub(crate) const FRESH: u8 = 0xCD;
/// What pinned memory is filled with while a copy into it is pending.
pub(crate) const PENDING: u8 = 0xA5;
const ALIGN: u64 = 512;

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Device memory; `pool` is 0 when it comes from `cuMemAlloc`.
    Device {
        /// Its pool.
        pool: u64,
    },
    /// `cuMemHostAlloc`.
    Pinned {
        /// Its flags.
        flags: u32,
    },
    /// `cuMemHostRegister`.
    Registered {
        /// Its flags.
        flags: u32,
    },
}

/// One allocation.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) base: u64,
    pub(crate) len: u64,
    pub(crate) place: Place,
    pub(crate) ctx: u64,
    pub(crate) device: i32,
    pub(crate) shadow: Shadow,
    /// Operations enqueued and not run that use it.
    pub(crate) pending: usize,
    /// The call that will free it, once enqueued.
    pub(crate) freeing: Option<Access>,
    /// Where its bytes are in this process.
    data: usize,
    owned: Option<Layout>,
}

impl Block {
    /// Whether the host may hold its address.
    pub(crate) fn is_host(&self) -> bool {
        !matches!(self.place, Place::Device { .. })
    }

    /// The bytes at an offset.
    pub(crate) fn at(&self, offset: u64) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.data + offset as usize)
    }

    /// Fills a part of it.
    ///
    /// # Safety
    /// Nobody else uses these bytes now.
    pub(crate) unsafe fn scramble(&self, offset: u64, len: u64, value: u8) {
        debug_assert!(offset + len <= self.len);
        // SAFETY: the range is inside the block, whose bytes are valid while it is in the map; the caller excludes
        // others.
        unsafe { self.at(offset).write_bytes(value, len as usize) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(layout) = self.owned {
            // SAFETY: `data` came from `alloc_zeroed` with this layout, and only the drop frees it.
            unsafe { std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(self.data), layout) };
        }
    }
}

/// All blocks, by first address.
#[derive(Debug)]
pub(crate) struct Memory {
    blocks: BTreeMap<u64, Block>,
    next: u64,
    /// Recently freed ranges, so that a report can say "freed" where it would say "not allocated".
    freed: std::collections::VecDeque<(u64, u64)>,
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Self { blocks: BTreeMap::new(), next: DEVICE_BASE + ALIGN, freed: std::collections::VecDeque::new() }
    }

    /// A new block with memory of its own. `None` where the system has none.
    pub(crate) fn allocate(
        &mut self,
        len: u64,
        place: Place,
        ctx: u64,
        device: i32,
        by: Option<Access>,
    ) -> Option<u64> {
        let layout = Layout::from_size_align(usize::try_from(len).ok()?, ALIGN as usize).ok()?;
        // SAFETY: the callers refuse a length of 0.
        let data = unsafe { std::alloc::alloc_zeroed(layout) }.expose_provenance();
        if data == 0 {
            return None;
        }
        let host = !matches!(place, Place::Device { .. });
        let base = if host {
            data as u64
        } else {
            let base = self.next;
            // A gap between blocks: an access past the end of one never looks like one of the next.
            self.next += len.next_multiple_of(ALIGN) + ALIGN;
            base
        };
        let shadow = Shadow::new(len, host, by);
        let block =
            Block { base, len, place, ctx, device, shadow, pending: 0, freeing: None, data, owned: Some(layout) };
        // Large blocks only at their ends: filling a GiB would make "allocate and drop" tests crawl.
        let edge = 1 << 20;
        // SAFETY: the block is new, nobody else knows it.
        unsafe {
            if len <= edge * 16 {
                block.scramble(0, len, FRESH);
            } else {
                block.scramble(0, edge, FRESH);
                block.scramble(len - edge, edge, FRESH);
            }
        }
        self.blocks.insert(base, block);
        Some(base)
    }

    /// Takes note of registered memory. False where it overlaps with a known block.
    pub(crate) fn register(&mut self, base: u64, len: u64, flags: u32, ctx: u64, device: i32) -> bool {
        if self.blocks.range(..base + len).next_back().is_some_and(|(_, b)| b.base + b.len > base) {
            return false;
        }
        let block = Block {
            base,
            len,
            place: Place::Registered { flags },
            ctx,
            device,
            shadow: Shadow::new(len, true, None),
            pending: 0,
            freeing: None,
            data: base as usize,
            owned: None,
        };
        self.blocks.insert(base, block);
        true
    }

    /// The block that holds an address.
    #[inline]
    pub(crate) fn find(&self, address: u64) -> Option<&Block> {
        self.blocks.range(..=address).next_back().map(|(_, b)| b).filter(|b| address - b.base < b.len)
    }

    /// The block that holds an address.
    #[inline]
    pub(crate) fn find_mut(&mut self, address: u64) -> Option<&mut Block> {
        self.blocks.range_mut(..=address).next_back().map(|(_, b)| b).filter(|b| address - b.base < b.len)
    }

    /// The block that starts at an address.
    pub(crate) fn get_mut(&mut self, base: u64) -> Option<&mut Block> {
        self.blocks.get_mut(&base)
    }

    /// Takes a block out.
    pub(crate) fn remove(&mut self, base: u64) -> Option<Block> {
        let block = self.blocks.remove(&base)?;
        if self.freed.len() == 4096 {
            self.freed.pop_front();
        }
        self.freed.push_back((base, block.len));
        Some(block)
    }

    /// Whether a block with this address was freed not long ago.
    pub(crate) fn was_freed(&self, address: u64) -> bool {
        self.freed.iter().any(|(base, len)| address.wrapping_sub(*base) < *len)
    }

    /// All blocks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.blocks.values()
    }
}
