//! The engine `nvshmem`: PEs are processes with a GPU each, or a share of one, and NVSHMEM works on their streams.
//!
//! The library ends the process on most misuse, so everything is checked before it is called.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use super::card::{Card, WORDS};
use super::engine::{Collective, Notice, Split, Strides, Together, Transfer};
use super::heap::{BITS, Heap};
use super::signal::Cmp;
use super::transport::{Alloc, Target};
use crate::block::Place;
use crate::cuda::Core;
use crate::dtype::DType;
use crate::error::{Divergence, Error, Operation, PeFailure};
use crate::region::Admitted;
use crate::stream::Stream;

mod collective;
mod raw;
mod start;

pub(crate) use start::job_on_gpu;
pub(super) use start::{fail, is_started, launch};

use raw::{Api, Team};

/// Words that PEs tell each other in one exchange: the card of the call, a word about memory, a bit for each drop.
const TOLD: usize = WORDS + 1 + BITS;
/// Bytes for one element on its way.
const SCRATCH: usize = 4096;

/// One PE of a job on GPUs.
pub(super) struct Gpu {
    api: &'static Api,
    me: usize,
    n_pes: usize,
    /// Several PEs share a GPU without MPS: what waits on the GPU for another PE is refused or done on the host.
    limited: bool,
    /// The PEs whose memory this one reaches by loads and stores.
    near: Box<[bool]>,
    /// The PEs of NVSHMEM's team of this host, which may be more: GPUs of one host need not reach each other.
    on_host: Box<[bool]>,
    /// Symmetric: what PEs tell each other, two places for each, used in turn.
    board: NonNull<u8>,
    /// Symmetric: what this PE tells.
    told: NonNull<u8>,
    /// Symmetric: one element on its way.
    scratch: NonNull<u8>,
    turn: Cell<usize>,
    heap: RefCell<Heap>,
    /// NVSHMEM's teams, by our numbers.
    teams: RefCell<HashMap<u32, Team>>,
    /// Whether the PEs compare their calls at each barrier, which waits on the host.
    checked: bool,
}

/// What an allocation of NVSHMEM's heap is to a CUDA or NVSHMEM call.
fn address(ptr: *mut u8) -> *mut c_void {
    ptr.cast()
}

impl Gpu {
    pub(super) fn me(&self) -> usize {
        self.me
    }

    pub(super) fn n_pes(&self) -> usize {
        self.n_pes
    }

    pub(super) fn is_near(&self, pe: usize) -> bool {
        self.on_host[pe]
    }

    pub(super) fn held(&self) -> usize {
        self.heap.borrow().held()
    }

    pub(super) fn is_full(&self) -> bool {
        self.heap.borrow().is_full()
    }

    pub(super) fn note_drop(&self, slot: u32) {
        self.heap.borrow_mut().note_drop(slot);
    }

    /// The stream as this engine knows it.
    fn core(stream: &Stream) -> &Core {
        stream.cuda().expect("a job of this engine is on a GPU")
    }

    fn team(&self, number: u32) -> Result<Team, Error> {
        let team = if number == 0 { Some(raw::TEAM_WORLD) } else { self.teams.borrow().get(&number).copied() };
        team.ok_or_else(|| self.unsupported(Operation::Collective, "teams without MPS where PEs share a GPU"))
    }

    #[allow(clippy::unused_self)]
    fn unsupported(&self, op: Operation, what: &'static str) -> Error {
        Error::Unsupported { op, what }
    }

    /// Tells all PEs `words` and returns what each told, in the order of the stream. **Blocks.**
    fn exchange(&self, stream: &Stream, words: &[u64; TOLD]) -> Result<Vec<u64>, Error> {
        let core = Gpu::core(stream);
        let turn = 1 - self.turn.get();
        self.turn.set(turn);
        // SAFETY: the board has two places of `n_pes` times `TOLD` words, `told` has `TOLD` words; all PEs are in this call,
        // and what was told in the last call of this turn has been read by all (they have told again since).
        unsafe {
            core.write_words(self.told.as_ptr(), words)?;
            let board = self.board.add(turn * self.n_pes * TOLD * 8);
            for pe in 0..self.n_pes {
                let place = board.add(self.me * TOLD * 8);
                let pe = pe as c_int;
                (self.api.putmem)(
                    address(place.as_ptr()),
                    address(self.told.as_ptr()),
                    TOLD * 8,
                    pe,
                    core.raw().cast(),
                );
            }
            (self.api.barrier_all)(core.raw().cast());
            core.read_words(board.as_ptr(), self.n_pes * TOLD)
        }
    }

    /// Compares the calls of all PEs. **Blocks.**
    fn compare(&self, stream: &Stream, card: &Card, memory: u64, bits: &[u64; BITS]) -> Result<Vec<u64>, Error> {
        let mut words = [0; TOLD];
        words[..WORDS].copy_from_slice(&card.words());
        words[WORDS] = memory;
        words[WORDS + 1..].copy_from_slice(bits);
        // A PE that cannot go on leaves the others in the exchange.
        let told = self.exchange(stream, &words).inspect_err(|error| fail(self.me, error))?;
        for (pe, words) in told.chunks_exact(TOLD).enumerate() {
            let theirs = Card::from_words(words[..WORDS].try_into().expect("as many as a card has"));
            if theirs != *card {
                let (here, there) = card.describe_both(&theirs);
                return Err(Error::Diverged(Divergence { here: (self.me, here), there: (pe, there) }.into()));
            }
        }
        Ok(told)
    }

    pub(super) fn agree(&self, stream: &Stream, op: Operation, call: Together) -> Result<(), Error> {
        crate::stream::not_on_worker(op)?;
        let raw = Gpu::core(stream).raw();
        if call.team == 0 {
            if self.checked {
                return self.compare(stream, &call.card, 0, &[0; BITS]).map(|_| ());
            }
            // SAFETY: all PEs are in this call; the stream is one of the GPU that the library was started on.
            unsafe { (self.api.barrier_all)(raw.cast()) };
            return Ok(());
        }
        let team = self.team(call.team)?;
        // SAFETY: as above, for the PEs of the team.
        done(op, unsafe { (self.api.barrier)(team, raw.cast()) })
    }

    pub(super) fn create(
        &self,
        stream: &Stream,
        call: Together,
        bytes: usize,
    ) -> Result<Option<NonNull<Alloc>>, Error> {
        // The library ends the process where memory is missing; what is free now is a good guess. Where it is not told, this
        // PE goes on to the others all the same, who wait for it.
        let fits = stream.device().memory_info().is_ok_and(|memory| bytes <= memory.free);
        if self.free_dropped(stream, &call.card, u64::from(fits))? == 0 {
            return Ok(None);
        }
        // Behind the frees, and then alike on all PEs.
        let Some(slot) = self.heap.borrow().next_slot() else { return Ok(None) };
        // SAFETY: all PEs are in this call and ask for the same.
        let base = NonNull::new(unsafe { (self.api.malloc)(bytes) }.cast::<u8>());
        // Its place in the heap, which is not that of the board: the library finds a PE's copy by it.
        let place = base.map_or(0, |base| base.as_ptr().addr().wrapping_sub(self.board.as_ptr().addr()) as u64);
        let told = self.compare(stream, &call.card, place, &[0; BITS])?;
        if let Some(pe) = told.chunks_exact(TOLD).position(|words| words[WORDS] != place) {
            // What has come apart stays so: each later allocation would lie elsewhere than the others believe.
            let message = format!("its heap gave {bytes} bytes at another place than that of PE {}, or none", self.me);
            let error = Error::PeFailed(PeFailure { pe, message }.into());
            fail(self.me, &error);
            return Err(error);
        }
        let Some(base) = base else { return Ok(None) };
        let alloc = Alloc { slot, base, bytes, bases: Box::default(), block: None };
        Ok(Some(self.heap.borrow_mut().insert(alloc)))
    }

    pub(super) fn reclaim(&self, stream: &Stream, call: Together) -> Result<(), Error> {
        self.free_dropped(stream, &call.card, 1).map(|_| ())
    }

    /// Frees what all PEs have dropped; returns whether all PEs told a `memory` other than 0.
    fn free_dropped(&self, stream: &Stream, card: &Card, memory: u64) -> Result<u64, Error> {
        let bits = *self.heap.borrow().dropped();
        let told = self.compare(stream, card, memory, &bits)?;
        let mut common = [u64::MAX; BITS];
        let mut least = u64::MAX;
        for words in told.chunks_exact(TOLD) {
            least = least.min(words[WORDS]);
            common.iter_mut().zip(&words[WORDS + 1..]).for_each(|(common, bits)| *common &= bits);
        }
        for alloc in self.heap.borrow_mut().take(&common) {
            // SAFETY: all PEs have dropped it and free it here; the streams of all have passed what used it (`compare`
            // waits behind a barrier).
            unsafe { (self.api.free)(address(alloc.base.as_ptr())) };
        }
        Ok(least)
    }

    /// A copy to a PE without direct access needs a source that NVSHMEM knows.
    fn reaches(&self, op: Operation, pe: usize, here: *mut u8) -> Result<(), Error> {
        if self.near[pe] || here == self.scratch.as_ptr() || self.heap.borrow().holds(here) {
            return Ok(());
        }
        Err(self.unsupported(op, "copies between hosts of memory that is not symmetric: use a `ShmemBuffer`"))
    }

    /// # Safety
    /// As for [`Engine`](super::engine::Engine), here and below.
    pub(super) unsafe fn put(&self, stream: &Stream, what: Transfer, bytes: usize) -> Result<(), Error> {
        crate::stream::not_on_worker(Operation::Put)?;
        self.reaches(Operation::Put, what.pe, what.here)?;
        let raw = Gpu::core(stream).raw();
        // SAFETY: the caller's duty.
        unsafe {
            (self.api.putmem)(address(what.there.here()), address(what.here), bytes, what.pe as c_int, raw.cast());
        };
        Ok(())
    }

    pub(super) unsafe fn get(&self, stream: &Stream, what: Transfer, bytes: usize) -> Result<(), Error> {
        crate::stream::not_on_worker(Operation::Get)?;
        self.reaches(Operation::Get, what.pe, what.here)?;
        let raw = Gpu::core(stream).raw();
        // SAFETY: the caller's duty.
        unsafe {
            (self.api.getmem)(address(what.here), address(what.there.here()), bytes, what.pe as c_int, raw.cast());
        };
        Ok(())
    }

    pub(super) unsafe fn put_strided(&self, stream: &Stream, what: Transfer, strides: Strides) -> Result<(), Error> {
        for nth in 0..strides.count {
            // SAFETY: the caller's duty; each place lies in its memory.
            unsafe {
                let (here, there) = (what.here.add(nth * strides.here), what.there.at(nth * strides.there));
                self.put(stream, Transfer { here, there, ..what }, strides.size)?;
            }
        }
        Ok(())
    }

    pub(super) unsafe fn get_strided(&self, stream: &Stream, what: Transfer, strides: Strides) -> Result<(), Error> {
        for nth in 0..strides.count {
            // SAFETY: the caller's duty; each place lies in its memory.
            unsafe {
                let (here, there) = (what.here.add(nth * strides.here), what.there.at(nth * strides.there));
                self.get(stream, Transfer { here, there, ..what }, strides.size)?;
            }
        }
        Ok(())
    }

    pub(super) unsafe fn p<T: DType>(&self, stream: &Stream, value: T, there: Target, pe: usize) -> Result<(), Error> {
        if size_of::<T>() > SCRATCH {
            return Err(self.unsupported(Operation::Put, "`p` of elements over 4096 bytes"));
        }
        let scratch = Admitted { place: Place::Device, ptr: self.scratch.as_ptr(), len: 1 };
        // SAFETY: the scratch memory has room for the element, and the stream alone uses it, in its order.
        unsafe {
            stream.fill(scratch, value)?;
            self.put(stream, Transfer { here: scratch.ptr, there, pe }, size_of::<T>())
        }
    }

    pub(super) unsafe fn g<T: DType>(&self, stream: &Stream, there: Target, pe: usize) -> Result<T, Error> {
        if size_of::<T>() > SCRATCH {
            return Err(self.unsupported(Operation::Get, "`g` of elements over 4096 bytes"));
        }
        // SAFETY: as for `p`; a `DType` is any bytes, and as many words as it has were read.
        unsafe {
            self.get(stream, Transfer { here: self.scratch.as_ptr(), there, pe }, size_of::<T>())?;
            let words = Gpu::core(stream).read_words(self.scratch.as_ptr(), size_of::<T>().div_ceil(8))?;
            Ok(words.as_ptr().cast::<T>().read_unaligned())
        }
    }

    pub(super) fn quiet(&self, stream: &Stream) -> Result<(), Error> {
        crate::stream::not_on_worker(Operation::Quiet)?;
        // SAFETY: the stream is one of the GPU that the library was started on.
        unsafe { (self.api.quiet)(Gpu::core(stream).raw().cast()) };
        Ok(())
    }

    pub(super) unsafe fn notify(
        &self,
        stream: &Stream,
        put: Option<(Transfer, usize)>,
        notice: Notice,
        pe: usize,
    ) -> Result<(), Error> {
        // What this PE put there before comes before the signal too.
        self.quiet(stream)?;
        let raw = Gpu::core(stream).raw().cast();
        let change = if notice.adds { raw::SIGNAL_ADD } else { raw::SIGNAL_SET };
        // SAFETY: the caller's duty; a signal's word is 8 bytes, aligned.
        unsafe {
            let word = notice.word.here().cast();
            match put {
                Some((what, bytes)) => {
                    self.reaches(Operation::Put, pe, what.here)?;
                    let (to, from) = (address(what.there.here()), address(what.here));
                    (self.api.putmem_signal)(to, from, bytes, word, notice.value, change, pe as c_int, raw);
                }
                None => (self.api.signal_op)(word, notice.value, change, pe as c_int, raw),
            }
        }
        Ok(())
    }

    pub(super) unsafe fn await_word(&self, stream: &Stream, word: Target, cmp: Cmp, value: u64) -> Result<(), Error> {
        crate::stream::not_on_worker(Operation::Signal)?;
        // SAFETY: the caller's duty.
        let word: *mut u64 = unsafe { word.here() }.cast();
        if self.limited {
            // A wait on the GPU could keep the other PE from running there at all, so the host waits.
            stream.synchronize(Operation::Signal)?;
            // SAFETY: as above.
            while !cmp.holds(unsafe { (self.api.signal_fetch)(word) }, value) {
                std::thread::yield_now();
            }
            return Ok(());
        }
        let comparison = match cmp {
            Cmp::Eq => 0,
            Cmp::Ne => 1,
            Cmp::Gt => 2,
            Cmp::Le => 3,
            Cmp::Lt => 4,
            Cmp::Ge => 5,
        };
        // SAFETY: as above.
        unsafe { (self.api.signal_wait)(word, comparison, value, Gpu::core(stream).raw().cast()) };
        Ok(())
    }

    #[allow(clippy::unused_self)] // as its siblings
    pub(super) unsafe fn fetch_word(&self, stream: &Stream, word: Target) -> Result<u64, Error> {
        // SAFETY: the caller's duty.
        Ok(unsafe { Gpu::core(stream).read_words(word.here(), 1) }?[0])
    }

    #[allow(clippy::unused_self)] // as its siblings
    pub(super) unsafe fn clear_word(&self, stream: &Stream, word: Target) -> Result<(), Error> {
        // SAFETY: the caller's duty.
        unsafe { Gpu::core(stream).zero(word.here(), 8) }
    }

    pub(super) unsafe fn peer(&self, at: Target, pe: usize) -> Option<*mut u8> {
        // SAFETY: the caller's duty: an address of the heap, and a PE of the job.
        let there = unsafe { (self.api.ptr)(address(at.here()), pe as c_int) };
        (!there.is_null()).then_some(there.cast())
    }

    /// Makes NVSHMEM's teams, where it has them. **Blocks.**
    pub(super) fn split(&self, stream: &Stream, split: Split) -> Result<(), Error> {
        const OP: Operation = Operation::Collective;
        if self.limited {
            return Ok(()); // the team names PEs; its collectives say that they are not there
        }
        stream.synchronize(OP)?; // the library's own collectives come behind what is enqueued
        let config =
            raw::TeamConfig { version: raw::VERSION_TEAM_CONFIG, num_contexts: 0, uniqueid: 0, padding: [0; 48] };
        match split {
            Split::Near { new } => {
                self.teams.borrow_mut().insert(new, raw::TEAM_NODE);
            }
            Split::Strided { parent, start, stride, size, new } => {
                let (parent, mut team) = (self.team(parent)?, -1);
                let [start, stride, size] = [start, stride, size].map(|n| n as c_int);
                // SAFETY: all PEs of the parent are in this call; the numbers were checked.
                done(OP, unsafe {
                    (self.api.split_strided)(parent, start, stride, size, &raw const config, 0, &raw mut team)
                })?;
                if let Some(new) = new {
                    self.teams.borrow_mut().insert(new, team);
                }
            }
            Split::Grid { parent, width, row, column } => {
                let (parent, mut x, mut y) = (self.team(parent)?, -1, -1);
                let config = &raw const config;
                // SAFETY: as above.
                done(OP, unsafe {
                    (self.api.split_2d)(parent, width as c_int, config, 0, &raw mut x, config, 0, &raw mut y)
                })?;
                self.teams.borrow_mut().extend([(row, x), (column, y)]);
            }
        }
        Ok(())
    }

    pub(super) unsafe fn collective(
        &self,
        stream: &Stream,
        call: Together,
        ranges: [Target; 2],
        what: Collective,
    ) -> Result<(), Error> {
        crate::stream::not_on_worker(Operation::Collective)?;
        // Every PE's source and destination are ready, and the calls are the same, before one of them writes.
        self.agree(stream, Operation::Collective, call)?;
        if self.limited {
            // SAFETY: the caller's duty.
            unsafe { self.collective_by_puts(stream, call, ranges, what) }
        } else {
            // SAFETY: the caller's duty.
            unsafe { self.collective_by_library(stream, call, ranges, what) }
        }
    }
}

/// The result of a call of the library that reports one.
fn done(op: Operation, code: c_int) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Error::Refused { op, why: "NVSHMEM refused the call" }) }
}
