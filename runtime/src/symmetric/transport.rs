//! What an engine on the CPU does for one PE: remote copies, words, memory. Everything else is built on these in `wire.rs`.

use std::ptr::NonNull;
use std::time::Duration;

use super::card::Card;
use crate::block::Block;
use crate::error::Error;

/// One symmetric allocation, as this PE sees it.
pub(crate) struct Alloc {
    /// Its place in the table of allocations, the same on all PEs.
    pub(crate) slot: u32,
    pub(crate) base: NonNull<u8>,
    pub(crate) bytes: usize,
    /// Where each PE has it, if the PEs share an address space; else empty.
    pub(crate) bases: Box<[NonNull<u8>]>,
    /// The block behind it, if it is this process's own memory and not an engine's.
    pub(crate) block: Option<Box<Block>>,
}

// SAFETY: an allocation is addresses and an owned block; the memory is used as `soundness.md` says, whoever holds this.
unsafe impl Send for Alloc {}
// SAFETY: as above.
unsafe impl Sync for Alloc {}

/// A place in a symmetric allocation, on a PE that is still to be named.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    alloc: NonNull<Alloc>,
    offset: usize,
}

impl Target {
    /// The place of `address`, which lies in this PE's copy of `alloc` or one past its end.
    pub(crate) fn new(alloc: NonNull<Alloc>, address: *mut u8) -> Target {
        // SAFETY: an allocation's entry lives as long as any value that refers to it (`Heap`).
        let base = unsafe { alloc.as_ref() }.base;
        Target { alloc, offset: address.addr() - base.as_ptr().addr() }
    }

    pub(crate) fn at(self, bytes: usize) -> Target {
        Target { offset: self.offset + bytes, ..self }
    }

    /// The address of this PE's own copy.
    ///
    /// # Safety
    /// The allocation is still there.
    #[inline]
    pub(crate) unsafe fn here(self) -> *mut u8 {
        // SAFETY: the caller's duty; the offset lies in the allocation (`new`, `at`).
        unsafe { self.alloc.as_ref().base.as_ptr().add(self.offset) }
    }

    /// The address of `pe`'s copy, in a job whose PEs share an address space.
    ///
    /// # Safety
    /// The allocation is still there, and `pe` is one of the job.
    #[inline]
    pub(crate) unsafe fn there(self, pe: usize) -> *mut u8 {
        // SAFETY: the caller's duty; all PEs' copies have the same size.
        unsafe { self.alloc.as_ref().bases[pe].as_ptr().add(self.offset) }
    }
}

/// What an atomic operation does with the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rmw {
    Fetch,
    Set,
    Add,
    And,
    Or,
    Xor,
    /// Sets if the old value is the one in `compare`.
    CompareSwap,
}

/// A remote atomic operation on 4 or 8 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Atomic {
    pub(crate) at: Target,
    pub(crate) wide: bool,
    pub(crate) rmw: Rmw,
    pub(crate) operand: u64,
    pub(crate) compare: u64,
    /// Whether somebody looks at what it returns.
    pub(crate) fetches: bool,
    pub(crate) pe: usize,
}

/// What is said of a wait that is longer than `limit`.
pub(crate) fn waited_line(pe: usize, limit: Duration, what: &str, missing: Option<usize>) -> String {
    let who = missing.map_or(String::new(), |missing| format!("; not there yet: PE {missing}"));
    format!("escrow: PE {pe} has waited {} s in {what}{who}", limit.as_secs())
}

/// One PE's way to the others. What needs the engine is called by one thread at a time: the stream's worker, or the PE's
/// own where the stream stands still (`Core::run_here`).
///
/// What is passed in is right: ranges lie in their allocations, PEs are of the job, sizes and alignments fit.
pub(crate) trait Transport: Send + Sync {
    /// The engine's name, as `ESCROW_SHMEM` takes it.
    fn name(&self) -> &'static str;
    fn me(&self) -> usize;
    fn n_pes(&self) -> usize;
    /// Whether `pe` runs on the same host.
    fn is_near(&self, pe: usize) -> bool;

    /// Whether short copies, and waits until they have arrived, take no longer than handing them to another thread.
    fn is_quick(&self) -> bool;

    /// An error if the job is over because a PE failed. On any thread, and cheap.
    fn check(&self) -> Result<(), Error>;
    /// Says on all PEs that the job is over. Engines of processes end the process here. On any thread.
    fn fail(&self, error: &Error);

    /// # Safety
    /// `dst` has room for `bytes` bytes, `src` is valid for reads of them, and the copy is done with `src` when this
    /// returns.
    unsafe fn put(&self, dst: Target, src: *const u8, bytes: usize, pe: usize);
    /// # Safety
    /// As for `put`, the other way round. The bytes are there when this returns.
    unsafe fn get(&self, dst: *mut u8, src: Target, bytes: usize, pe: usize);
    /// Later puts arrive behind earlier ones on each PE.
    fn fence(&self);
    /// Returns when all earlier puts have arrived.
    fn quiet(&self);

    /// Atomically stores to a word of 8 bytes on `pe`, behind earlier fenced puts, and wakes it.
    ///
    /// # Safety
    /// The word lies in its allocation, aligned.
    unsafe fn set_word(&self, word: Target, value: u64, pe: usize);
    /// # Safety
    /// As for `set_word`.
    unsafe fn add_word(&self, word: Target, value: u64, pe: usize);
    /// # Safety
    /// As for `set_word`, for 4 or 8 bytes.
    unsafe fn atomic(&self, what: Atomic) -> u64;
    /// Waits until `ready` likes this PE's own word, and returns it. `missing` is the PE that is waited for, if it is one.
    ///
    /// # Safety
    /// As for `set_word`.
    unsafe fn wait(
        &self,
        word: Target,
        missing: Option<usize>,
        card: &Card,
        ready: &dyn Fn(u64) -> bool,
    ) -> Result<u64, Error>;

    /// Memory for a symmetric allocation; on some engines all PEs must ask alike. `None` if there is none left.
    fn allocate(&self, bytes: usize) -> Option<(NonNull<u8>, Option<Box<Block>>)>;
    /// # Safety
    /// No PE uses the allocation any more; on some engines all PEs must free alike.
    unsafe fn free(&self, alloc: Box<Alloc>);
    /// Whether PEs reach each other's memory by address: then allocations need the addresses of all.
    fn shares_addresses(&self) -> bool;
    /// Where this process reaches `pe`'s copy by loads and stores; `None` if it does not. On any thread.
    ///
    /// # Safety
    /// The allocation is still there, and `pe` is one of the job.
    unsafe fn peer(&self, _at: Target, _pe: usize) -> Option<*mut u8> {
        None
    }
    /// Notes that this PE's thread made a call, for the limit of waits after a failure.
    fn called(&self) {}
}
