//! The engine `openshmem`: PEs are processes under `oshrun`, memory and transport are Open MPI's.

use std::ffi::{c_int, c_uint, c_ulong};
use std::hint::spin_loop;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::raw::Raw;
use super::card::Card;
use super::launch::failed;
use super::transport::{Alloc, Atomic, Rmw, Target, Transport, waited_line};
use crate::block::Block;
use crate::error::Error;

mod job;
mod load;
mod process;
mod raw;

pub(super) use job::launch;
pub(super) use process::world_size;

/// How often a wait looks at its word before it lets others have the core, where each PE has one.
const SPINS: u32 = 2000;
/// Looks between two calls that let Open MPI make progress.
const LOOKS: u32 = 64;
/// A wait that is longer than this one naps instead of yielding.
const PATIENCE: Duration = Duration::from_millis(20);
const NAP: Duration = Duration::from_micros(100);
/// How long a PE that has returned an error waits for the others to do the same.
const GRACE: Duration = Duration::from_secs(2);

/// This process's PE. The engine is initialized for threads that call one at a time, at least: the stream's worker, and the
/// launching thread before it, after it, and while it has nothing to do.
struct OpenShmem {
    raw: &'static Raw,
    me: usize,
    pes: usize,
    near: Box<[bool]>,
    /// All PEs are near.
    quick: bool,
    spins: u32,
    limit: Duration,
    /// Waits end with an error after this.
    last: OnceLock<Instant>,
}

impl OpenShmem {
    /// Waits end with an error if the others do not come soon: this PE has failed, and tells them if they do.
    fn hurry(&self) {
        let _ = self.last.set(Instant::now() + GRACE);
    }

    /// The address that the engine knows a place by, on all PEs: this PE's own.
    ///
    /// # Safety
    /// The allocation is still there.
    unsafe fn at<T>(place: Target) -> *mut T {
        // SAFETY: the caller's duty.
        unsafe { place.here() }.cast()
    }

    /// Operations that look at the old value, by comparing and swapping words of 8 bytes.
    ///
    /// Open MPI 4.1.4 has functions for them that do not work: those of 4 bytes that compare and swap write 8 bytes to 4 of
    /// their stack, and those that fetch and combine bits combine the element with itself.
    ///
    /// # Safety
    /// As for [`Transport::atomic`]. The word around an element of 4 bytes lies in its allocation too (`allocate`).
    unsafe fn replace(&self, what: Atomic) -> u64 {
        // SAFETY: the caller's duty.
        let at: *mut c_ulong = unsafe { Self::at(what.at) };
        let inside = at.addr() % 8;
        let (mask, shift) = if what.wide {
            (u64::MAX, 0)
        } else {
            (u64::from(u32::MAX), 8 * if cfg!(target_endian = "big") { 4 - inside } else { inside })
        };
        let (word, pe) = (at.map_addr(|at| at - inside), what.pe as c_int);
        // SAFETY: the word lies in the allocation, which is aligned to more than that.
        let mut all = unsafe { (self.raw.ulong_atomic_fetch)(word, pe) };
        loop {
            let old = (all >> shift) & mask;
            let new = match what.rmw {
                Rmw::And => old & what.operand,
                Rmw::Or => old | what.operand,
                Rmw::Xor => old ^ what.operand,
                Rmw::CompareSwap if old == what.compare => what.operand,
                _ => return old,
            };
            let changed = (all & !(mask << shift)) | ((new & mask) << shift);
            // SAFETY: as above.
            let seen = unsafe { (self.raw.ulong_atomic_compare_swap)(word, all, changed, pe) };
            if seen == all {
                return old;
            }
            all = seen;
        }
    }

    /// Lets the engine do what others ask of it, where the hardware does not.
    fn progress(&self, word: *mut c_ulong) {
        // SAFETY: the word is symmetric and aligned (`wait`); its value does not matter.
        unsafe { (self.raw.ulong_test)(word, raw::CMP_EQ, 0) };
    }
}

impl Transport for OpenShmem {
    fn name(&self) -> &'static str {
        "openshmem"
    }
    fn me(&self) -> usize {
        self.me
    }
    fn n_pes(&self) -> usize {
        self.pes
    }
    fn is_near(&self, pe: usize) -> bool {
        self.near[pe]
    }

    fn is_quick(&self) -> bool {
        self.quick
    }

    fn check(&self) -> Result<(), Error> {
        Ok(()) // a failure ends the processes
    }
    fn fail(&self, error: &Error) {
        process::fail(self.raw, self.me, error);
    }

    unsafe fn put(&self, dst: Target, src: *const u8, bytes: usize, pe: usize) {
        // SAFETY: the caller's duty. `src` may be used again when this returns (1.4, 9.5.1).
        unsafe { (self.raw.putmem)(Self::at(dst), src.cast(), bytes, pe as c_int) };
    }

    unsafe fn get(&self, dst: *mut u8, src: Target, bytes: usize, pe: usize) {
        // SAFETY: the caller's duty. The bytes are there when this returns (1.4, 9.5.6).
        unsafe { (self.raw.getmem)(dst.cast(), Self::at(src), bytes, pe as c_int) };
    }

    fn fence(&self) {
        // SAFETY: the engine runs, and this thread is the one that calls it now.
        unsafe { (self.raw.fence)() };
    }
    fn quiet(&self) {
        // SAFETY: as above.
        unsafe { (self.raw.quiet)() };
    }

    unsafe fn set_word(&self, word: Target, value: u64, pe: usize) {
        // SAFETY: the caller's duty.
        unsafe { (self.raw.ulong_atomic_set)(Self::at(word), value as c_ulong, pe as c_int) };
    }

    unsafe fn add_word(&self, word: Target, value: u64, pe: usize) {
        // SAFETY: the caller's duty.
        unsafe { (self.raw.ulong_atomic_add)(Self::at(word), value as c_ulong, pe as c_int) };
    }

    unsafe fn atomic(&self, what: Atomic) -> u64 {
        let raw = self.raw;
        macro_rules! apply {
            ($t:ty: $fetch:ident $set:ident $swap:ident $add:ident $fetch_add:ident $and:ident $or:ident $xor:ident) => {{
                let (operand, pe) = (what.operand as $t, what.pe as c_int);
                let nothing = |()| 0;
                // SAFETY: the caller's duty: the element is symmetric, of this width, and aligned.
                u64::from(unsafe {
                    let at: *mut $t = Self::at(what.at);
                    match (what.rmw, what.fetches) {
                        (Rmw::Set, false) => nothing((raw.$set)(at, operand, pe)),
                        (Rmw::Add, false) => nothing((raw.$add)(at, operand, pe)),
                        (Rmw::And, false) => nothing((raw.$and)(at, operand, pe)),
                        (Rmw::Or, false) => nothing((raw.$or)(at, operand, pe)),
                        (Rmw::Xor, false) => nothing((raw.$xor)(at, operand, pe)),
                        (Rmw::Fetch, _) => (raw.$fetch)(at, pe),
                        (Rmw::Set, true) => (raw.$swap)(at, operand, pe),
                        (Rmw::Add, true) => (raw.$fetch_add)(at, operand, pe),
                        (Rmw::And | Rmw::Or | Rmw::Xor, true) | (Rmw::CompareSwap, _) => return self.replace(what),
                    }
                })
            }};
        }
        if what.wide {
            apply!(c_ulong: ulong_atomic_fetch ulong_atomic_set ulong_atomic_swap
                ulong_atomic_add ulong_atomic_fetch_add ulong_atomic_and ulong_atomic_or ulong_atomic_xor)
        } else {
            apply!(c_uint: uint_atomic_fetch uint_atomic_set uint_atomic_swap
                uint_atomic_add uint_atomic_fetch_add uint_atomic_and uint_atomic_or uint_atomic_xor)
        }
    }

    unsafe fn wait(
        &self,
        word: Target,
        missing: Option<usize>,
        card: &Card,
        ready: &dyn Fn(u64) -> bool,
    ) -> Result<u64, Error> {
        // SAFETY: the caller's duty.
        let at: *mut u64 = unsafe { Self::at(word) };
        // SAFETY: it is aligned and lives as long as the allocation (the caller's duty). In this process it is used as an
        // atomic alone; others write it by the engine's atomics.
        let word = unsafe { AtomicU64::from_ptr(at) };
        let look = || Some(word.load(Ordering::Acquire)).filter(|value| ready(*value));
        for nth in 1..=self.spins {
            if let Some(value) = look() {
                return Ok(value);
            }
            spin_loop();
            if nth % LOOKS == 0 {
                self.progress(at.cast());
            }
        }
        let (start, mut reported) = (Instant::now(), false);
        loop {
            self.progress(at.cast());
            if let Some(value) = look() {
                return Ok(value);
            }
            let waited = start.elapsed();
            if self.last.get().is_some_and(|last| Instant::now() > *last) {
                return Err(failed(self.me, "the other PEs did not come to the end of the job".to_owned()));
            }
            if waited > self.limit && !reported {
                reported = true;
                process::say(&waited_line(self.me, self.limit, &card.describe(), missing));
            }
            if waited < PATIENCE {
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
        }
    }

    fn allocate(&self, bytes: usize) -> Option<(NonNull<u8>, Option<Box<Block>>)> {
        /// Open MPI's copies are slow between addresses that differ by a few bytes in their place in a page.
        const ALIGN: usize = 64;
        // SAFETY: the alignment is a power of two and a multiple of a pointer's size; all PEs are here with this size, as
        // they have agreed (`Wire::create`).
        let base = unsafe { (self.raw.align)(ALIGN, bytes.next_multiple_of(8)) };
        NonNull::new(base.cast()).map(|base| (base, None))
    }

    unsafe fn free(&self, alloc: Box<Alloc>) {
        // SAFETY: it is from `allocate`, and freed once, since it is passed by value; all PEs are here with it (`Wire::free_dropped`).
        unsafe { (self.raw.free)(alloc.base.as_ptr().cast()) };
    }

    fn shares_addresses(&self) -> bool {
        false
    }
}
