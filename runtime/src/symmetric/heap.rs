//! The table of symmetric memory: what there is, and what this PE has dropped.

use std::ptr::NonNull;

use super::transport::Alloc;

/// Symmetric allocations that can live at once.
pub(crate) const SLOTS: usize = 4096;
/// Words of one bit for each.
pub(crate) const BITS: usize = SLOTS / 64;

/// One PE's table. All PEs allocate and free in one order, so an allocation has the same slot everywhere.
pub(crate) struct Heap {
    allocs: Vec<Option<Box<Alloc>>>,
    dropped: [u64; BITS],
    held: usize,
}

impl Heap {
    pub(crate) fn new() -> Heap {
        Heap { allocs: Vec::new(), dropped: [0; BITS], held: 0 }
    }

    /// The slot that the next allocation gets, if there is one.
    pub(crate) fn next_slot(&self) -> Option<u32> {
        let slot = self.allocs.iter().position(Option::is_none).unwrap_or(self.allocs.len());
        (slot < SLOTS).then_some(slot as u32)
    }

    /// Whether no further allocation can live.
    pub(crate) fn is_full(&self) -> bool {
        self.next_slot().is_none()
    }

    /// Takes in the allocation of the next slot. The entry lives until all PEs have dropped it.
    pub(crate) fn insert(&mut self, alloc: Alloc) -> NonNull<Alloc> {
        let alloc = Box::new(alloc);
        let (entry, slot) = (NonNull::from(&*alloc), alloc.slot as usize);
        self.held += alloc.bytes;
        if slot == self.allocs.len() {
            self.allocs.push(Some(alloc));
        } else {
            self.allocs[slot] = Some(alloc);
        }
        entry
    }

    /// A bit for each allocation that this PE has dropped.
    pub(crate) fn dropped(&self) -> &[u64; BITS] {
        &self.dropped
    }

    /// This PE no longer uses an allocation. Frees nothing.
    pub(crate) fn note_drop(&mut self, slot: u32) {
        self.dropped[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Takes out what all PEs have dropped, by slot.
    #[allow(clippy::vec_box)] // entries are known by their addresses
    pub(crate) fn take(&mut self, common: &[u64; BITS]) -> Vec<Box<Alloc>> {
        let mut taken = Vec::new();
        for slot in (0..self.allocs.len()).filter(|slot| common[slot / 64] >> (slot % 64) & 1 == 1) {
            self.dropped[slot / 64] &= !(1 << (slot % 64));
            if let Some(alloc) = self.allocs[slot].take() {
                self.held -= alloc.bytes;
                taken.push(alloc);
            }
        }
        taken
    }

    /// Whether an address lies in one of the allocations.
    #[cfg(feature = "cuda")]
    pub(crate) fn holds(&self, address: *const u8) -> bool {
        self.allocs.iter().flatten().any(|alloc| {
            let base = alloc.base.as_ptr().addr();
            (base..base + alloc.bytes).contains(&address.addr())
        })
    }

    /// Bytes in allocations.
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}
