//! What all engines on the CPU share: agreement, barriers, the heap's table and the collectives, over a [`Transport`].
//!
//! Every pair of PEs has two words in each direction, used in turn. Both make the same collective calls in the same order,
//! so the `k`th word from one to the other belongs to the `k`th call that they share, whatever teams there are. A word is a
//! hash of the call: that it came is the barrier, that it is the same is the agreement.
//!
//! Two words are enough. A PE sends word `k + 2` when it has come out of call `k + 1`, so the other one had entered that, and
//! had read and cleared word `k` before.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::card::{Card, Kind, WORDS};
use super::heap::{BITS, Heap};
use super::transport::{Alloc, Target, Transport};
use crate::cpu::sync::lock;
use crate::error::{Divergence, Error, PeFailure};

/// Words of the board, which each PE writes at home for the others to read: the base of a new allocation, the card of the
/// call it is in, a bit for each allocation that it has dropped.
const BASE: usize = 0;
const CARD: usize = 1;
const DROPPED: usize = CARD + WORDS;
const BOARD: usize = DROPPED + BITS;
/// Elements are combined in pieces of this many bytes.
const PIECE: usize = 64 << 10;

/// Bytes of the memory that a PE needs before it can agree on any other.
pub(crate) const fn mail_bytes(pes: usize) -> usize {
    pes * 2 * 8
}
pub(crate) const BOARD_BYTES: usize = BOARD * 8;

/// One PE's end of the job. One thread at a time calls what communicates: in an operation of the stream, in its turn.
pub(crate) struct Wire {
    transport: Arc<dyn Transport>,
    mail: Box<Alloc>,
    board: Box<Alloc>,
    /// Words sent to each PE, which are as many as came from there.
    counts: Box<[Cell<u64>]>,
    heap: Mutex<Heap>,
    scratch: RefCell<Box<[u128]>>,
}

/// Two ranges to combine, element by element: `into[i] = op(into[i], from[i])`.
pub(crate) type Combine = unsafe fn(into: *mut u8, from: *const u8, len: usize);

impl Wire {
    /// `mail` has [`mail_bytes`], `board` [`BOARD_BYTES`], both zero on all PEs.
    pub(crate) fn new(transport: Arc<dyn Transport>, mail: Box<Alloc>, board: Box<Alloc>) -> Wire {
        Wire {
            counts: (0..transport.n_pes()).map(|_| Cell::new(0)).collect(),
            transport,
            mail,
            board,
            heap: Mutex::new(Heap::new()),
            scratch: RefCell::new(vec![0; PIECE / 16].into_boxed_slice()),
        }
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    fn mail(&self, word: usize) -> Target {
        Target::new(NonNull::from(&*self.mail), self.mail.base.as_ptr()).at(word * 8)
    }

    fn board(&self, word: usize) -> Target {
        Target::new(NonNull::from(&*self.board), self.board.base.as_ptr()).at(word * 8)
    }

    /// A word of this PE's own mail or board.
    #[allow(clippy::unused_self)] // its life is the word's
    fn own(&self, word: Target) -> &AtomicU64 {
        // SAFETY: mail and board live as long as `self`; their words are aligned, and used as atomics and by the copy
        // between PEs alone.
        unsafe { AtomicU64::from_ptr(word.here().cast()) }
    }

    /// Words `from..from + N` of `pe`'s board.
    fn read_board<const N: usize>(&self, from: usize, pe: usize) -> [u64; N] {
        let mut words = [0u64; N];
        // SAFETY: the words lie in the board, and the array has room for them.
        unsafe { self.transport.get(words.as_mut_ptr().cast(), self.board(from), N * 8, pe) };
        words
    }

    /// Waits until all PEs of `team` are in the same call, with all that they put before there. It is an error on each of
    /// them if the calls differ.
    pub(crate) fn agree(&self, team: &[u32], card: &Card) -> Result<(), Error> {
        for (at, word) in card.words().into_iter().enumerate() {
            self.own(self.board(CARD + at)).store(word, Ordering::Relaxed);
        }
        self.transport.quiet();
        let (me, word) = (self.transport.me(), card.word());
        let others = || team.iter().map(|pe| *pe as usize).filter(|pe| *pe != me);
        for pe in others() {
            let count = self.counts[pe].get() + 1;
            self.counts[pe].set(count);
            // SAFETY: the word lies in the mail, which has two for each PE.
            unsafe { self.transport.set_word(self.mail(me * 2 + (count % 2) as usize), word, pe) };
        }
        let mut different = None;
        for pe in others() {
            let mine = self.mail(pe * 2 + (self.counts[pe].get() % 2) as usize);
            // SAFETY: as above.
            let got = unsafe { self.transport.wait(mine, Some(pe), card, &|word| word != 0) }?;
            self.own(mine).store(0, Ordering::Relaxed);
            if got != word && different.is_none() {
                different = Some(pe);
            }
        }
        different.map_or(Ok(()), |pe| Err(self.divergence(card, pe)))
    }

    /// What `pe`, which is not in this PE's call, is in. It stays there, for it has noticed too.
    #[cold]
    fn divergence(&self, card: &Card, pe: usize) -> Error {
        let other = Card::from_words(self.read_board(CARD, pe));
        if other.is_failed_end() {
            return Error::PeFailed(PeFailure { pe, message: "it returned an error".to_owned() }.into());
        }
        let (here, there) = card.describe_both(&other);
        Error::Diverged(Divergence { here: (self.transport.me(), here), there: (pe, there) }.into())
    }

    /// A new allocation on all PEs; `None` on all if it failed on one.
    pub(crate) fn create(&self, team: &[u32], card: &Card, bytes: usize) -> Result<Option<NonNull<Alloc>>, Error> {
        self.free_dropped(team, card)?;
        let mut heap = lock(&self.heap);
        let slot = heap.next_slot();
        let memory = slot.and_then(|_| self.transport.allocate(bytes));
        let base = memory.as_ref().map_or(0, |(base, _)| base.as_ptr().expose_provenance() as u64);
        self.own(self.board(BASE)).store(base, Ordering::Relaxed);
        self.agree(team, &Card::new(Kind::Allocate, 0, [bytes as u64, 0, 0], 0))?;
        let bases = (0..self.transport.n_pes()).map(|pe| {
            let [base] = self.read_board(BASE, pe);
            NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(base as usize))
        });
        let bases: Option<Box<[NonNull<u8>]>> = bases.collect();
        // What some PEs got is not given back where others got nothing: engines free on all PEs or on none.
        let (Some(bases), Some((base, block)), Some(slot)) = (bases, memory, slot) else { return Ok(None) };
        let bases = if self.transport.shares_addresses() { bases } else { Box::default() };
        Ok(Some(heap.insert(Alloc { slot, base, bytes, bases, block })))
    }

    /// Frees what all PEs have dropped.
    pub(crate) fn reclaim(&self, team: &[u32], card: &Card) -> Result<(), Error> {
        self.free_dropped(team, card)?;
        // Behind this nobody reads this PE's bits any more, so it may write them again.
        self.agree(team, card)
    }

    /// Between two agreements: the bits that PEs read after the first stay as they are until the second.
    fn free_dropped(&self, team: &[u32], card: &Card) -> Result<(), Error> {
        {
            let heap = lock(&self.heap);
            for (at, bits) in heap.dropped().iter().enumerate() {
                self.own(self.board(DROPPED + at)).store(*bits, Ordering::Relaxed);
            }
        }
        self.agree(team, card)?;
        let mut common = [u64::MAX; BITS];
        for pe in 0..self.transport.n_pes() {
            let bits = self.read_board::<BITS>(DROPPED, pe);
            common.iter_mut().zip(bits).for_each(|(common, bits)| *common &= bits);
        }
        for alloc in lock(&self.heap).take(&common) {
            // SAFETY: all PEs have dropped it, what they put there has arrived (`agree`), and this stream has passed what
            // used it.
            unsafe { self.transport.free(alloc) };
        }
        Ok(())
    }

    /// This PE no longer uses an allocation. On its own thread; frees nothing.
    pub(crate) fn note_drop(&self, slot: u32) {
        lock(&self.heap).note_drop(slot);
    }

    /// Whether no further allocation can live.
    pub(crate) fn is_full(&self) -> bool {
        lock(&self.heap).is_full()
    }

    /// Bytes in symmetric allocations of this PE.
    pub(crate) fn held(&self) -> usize {
        lock(&self.heap).held()
    }

    /// Copies `bytes` bytes from the root's `src` to everybody's `dst`.
    ///
    /// # Safety
    /// The ranges lie in their allocations, and nothing else uses them on any PE.
    pub(crate) unsafe fn broadcast(
        &self,
        team: &[u32],
        card: &Card,
        root: usize,
        [dst, src]: [Target; 2],
        bytes: usize,
    ) -> Result<(), Error> {
        self.agree(team, card)?;
        if self.transport.me() == root {
            for &pe in team {
                // SAFETY: the caller's duty.
                unsafe { self.transport.put(dst, src.here(), bytes, pe as usize) };
            }
        }
        self.agree(team, card)
    }

    /// Copies the PE `i`'s part for PE `j` to PE `j`'s part of PE `i`: `bytes` bytes each. With `same`, the whole of `src` is
    /// the part for everybody.
    ///
    /// # Safety
    /// As for `broadcast`; `dst` has a part for each PE of the team, `src` too, or one with `same`.
    pub(crate) unsafe fn exchange(
        &self,
        team: &[u32],
        card: &Card,
        [dst, src]: [Target; 2],
        bytes: usize,
        same: bool,
    ) -> Result<(), Error> {
        self.agree(team, card)?;
        let me = self.index_in(team);
        // Each PE begins with its neighbour, so that they do not all write to one at a time.
        for step in 0..team.len() {
            let to = (me + step) % team.len();
            let part = if same { src } else { src.at(to * bytes) };
            // SAFETY: the caller's duty.
            unsafe { self.transport.put(dst.at(me * bytes), part.here(), bytes, team[to] as usize) };
        }
        self.agree(team, card)
    }

    /// Combines the PEs' `src`, in the order of the team, into everybody's `dst`: `len` elements of `size` bytes.
    ///
    /// # Safety
    /// As for `broadcast`; the ranges do not overlap, and `combine` is one for elements of `size` bytes.
    pub(crate) unsafe fn reduce(
        &self,
        team: &[u32],
        card: &Card,
        [dst, src]: [Target; 2],
        [len, size]: [usize; 2],
        combine: Combine,
    ) -> Result<(), Error> {
        self.agree(team, card)?;
        // Each PE combines its share and gives it to all: one order for all, so the same bits everywhere.
        let me = self.index_in(team);
        let share = len.div_ceil(team.len());
        let (start, end) = ((me * share).min(len), ((me + 1) * share).min(len));
        let at = start * size;
        // SAFETY: the caller's duty; the share lies in both ranges, and nobody else writes that part of this PE's `dst`.
        unsafe { self.combine(team, dst.at(at).here(), src.at(at), [end - start, size], combine) };
        for &pe in team.iter().filter(|&&pe| pe as usize != self.transport.me()) {
            // SAFETY: as above.
            unsafe { self.transport.put(dst.at(at), dst.at(at).here(), (end - start) * size, pe as usize) };
        }
        self.agree(team, card)
    }

    /// As `reduce`, and each PE gets its own part of the result: `src` has a part of `len` elements for each.
    ///
    /// # Safety
    /// As for `reduce`.
    pub(crate) unsafe fn reduce_scatter(
        &self,
        team: &[u32],
        card: &Card,
        [dst, src]: [Target; 2],
        [len, size]: [usize; 2],
        combine: Combine,
    ) -> Result<(), Error> {
        self.agree(team, card)?;
        let mine = src.at(self.index_in(team) * len * size);
        // SAFETY: the caller's duty; this PE's `dst` is its own until the agreement below.
        unsafe { self.combine(team, dst.here(), mine, [len, size], combine) };
        self.agree(team, card)
    }

    /// Combines `src` of all PEs of the team into `into`, in the order of the team.
    ///
    /// # Safety
    /// As for `reduce`; nobody else uses `into`.
    unsafe fn combine(&self, team: &[u32], into: *mut u8, src: Target, [len, size]: [usize; 2], combine: Combine) {
        let mut scratch = self.scratch.borrow_mut();
        let scratch: *mut u8 = scratch.as_mut_ptr().cast();
        let piece = PIECE / size;
        if piece == 0 {
            return; // no element with a reduction is that large
        }
        for start in (0..len).step_by(piece) {
            let (count, at) = (piece.min(len - start), start * size);
            for (nth, &pe) in team.iter().enumerate() {
                // SAFETY: the pieces lie in the caller's ranges, and one fits the scratch memory.
                unsafe {
                    let into = into.add(at);
                    let to = if nth == 0 { into } else { scratch };
                    self.transport.get(to, src.at(at), count * size, pe as usize);
                    if nth > 0 {
                        combine(into, scratch, count);
                    }
                }
            }
        }
    }

    fn index_in(&self, team: &[u32]) -> usize {
        let me = self.transport.me() as u32;
        team.iter().position(|pe| *pe == me).expect("only members call a team's collectives")
    }
}
