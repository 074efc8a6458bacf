//! The bounded queue between those who enqueue and one worker.
//!
//! Each slot counts turns: in lap `l` it may be written at turn `2l`, read at `2l + 1`, and is free for the next lap at
//! `2l + 2`. So a turn says by itself whose the slot is, and a new queue is all zeroes: its pages come from the system
//! untouched and cost nothing until they are used.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::mem::MaybeUninit;

use super::sync::{AtomicU64, Ordering, UnsafeCell, ZEROED_IS_NEW};

/// On a line of its own, so that the two ends do not slow each other. Two lines: processors fetch them in pairs.
#[repr(align(128))]
struct Apart<T>(T);

#[repr(C, align(64))]
struct Slot<T> {
    turn: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    fn new() -> Slot<T> {
        Slot { turn: AtomicU64::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }
}

/// Many threads put in, one takes out. Items are numbered from 1 in the order of their claims.
pub(crate) struct Queue<T, const CAPACITY: usize> {
    /// Positions claimed so far.
    tail: Apart<AtomicU64>,
    /// Positions taken out so far: the consumer's own, but for `pass`.
    head: Apart<AtomicU64>,
    slots: Box<[Slot<T>; CAPACITY]>,
}

// SAFETY: a value moves from the thread that wrote it to the one that takes it out (`T: Send`); who may touch a slot is
// decided by its turn, which changes hands with Release and Acquire.
unsafe impl<T: Send, const CAPACITY: usize> Sync for Queue<T, CAPACITY> {}
// SAFETY: as above.
unsafe impl<T: Send, const CAPACITY: usize> Send for Queue<T, CAPACITY> {}

/// The turn at which the slot of position `at` may be written.
#[inline]
const fn turn_of<const CAPACITY: usize>(at: u64) -> u64 {
    at / CAPACITY as u64 * 2
}

impl<T, const CAPACITY: usize> Queue<T, CAPACITY> {
    pub(crate) fn new() -> Self {
        const { assert!(CAPACITY.is_power_of_two()) };
        let slots = if ZEROED_IS_NEW {
            // SAFETY: a slot is an atomic number, for which zero is a value, and memory that may be uninitialised.
            unsafe { Box::<[Slot<T>; CAPACITY]>::new_zeroed().assume_init() }
        } else {
            let slots: Box<[Slot<T>]> = (0..CAPACITY).map(|_| Slot::new()).collect();
            slots.try_into().unwrap_or_else(|_| unreachable!("as many were made"))
        };
        Queue { tail: Apart(AtomicU64::new(0)), head: Apart(AtomicU64::new(0)), slots }
    }

    /// Items claimed so far, which is the number of the last one.
    #[inline]
    pub(crate) fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    #[inline]
    fn slot(&self, at: u64) -> &Slot<T> {
        &self.slots[at as usize % CAPACITY]
    }

    /// Claims the next position; `None` if the queue is full. What is claimed must be published: the consumer cannot
    /// pass it otherwise.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Claim<'_, T>> {
        let mut at = self.tail.0.load(Ordering::Relaxed);
        loop {
            let slot = self.slot(at);
            let free = turn_of::<CAPACITY>(at);
            // Acquire: the consumer has left the slot before it is written again.
            let turn = slot.turn.load(Ordering::Acquire);
            at = match turn.cmp(&free) {
                // Relaxed: the slot's turn carries the value over; `tail` only numbers.
                Equal => match self.tail.0.compare_exchange_weak(at, at + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return Some(Claim { slot, number: at + 1, written: free + 1 }),
                    Err(now) => now,
                },
                Less => return None,
                // Others have claimed and published in the meantime.
                Greater => self.tail.0.load(Ordering::Relaxed),
            };
        }
    }

    /// Claims the position behind the first `at`, if nobody has claimed it.
    #[inline]
    pub(crate) fn claim_behind(&self, at: u64) -> Option<Claim<'_, T>> {
        let (slot, free) = (self.slot(at), turn_of::<CAPACITY>(at));
        // As in `claim`.
        let mine = slot.turn.load(Ordering::Acquire) == free
            && self.tail.0.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        mine.then_some(Claim { slot, number: at + 1, written: free + 1 })
    }

    /// Passes a claimed position without an item, in the consumer's stead. What its claimer did until now comes before
    /// what the consumer takes out next.
    ///
    /// # Safety
    /// The consumer has taken out, and is done with, everything before the position.
    #[inline]
    #[allow(clippy::needless_pass_by_value)] // it is used up
    pub(crate) unsafe fn pass(&self, claim: Claim<'_, T>) {
        claim.slot.turn.store(claim.written + 1, Ordering::Release);
        // Release: the consumer goes on from here.
        self.head.0.store(claim.number, Ordering::Release);
    }

    /// The next item, if it has been published.
    ///
    /// # Safety
    /// One thread at a time calls this and holds what it returned.
    #[inline]
    pub(crate) unsafe fn front(&self) -> Option<Front<'_, T, CAPACITY>> {
        let at = self.head.0.load(Ordering::Acquire);
        // Made only then: a `Front` that is dropped frees its slot.
        self.is_published(at).then(|| Front { queue: self, at })
    }

    /// Whether the next item is there. Only the consumer can rely on the answer.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.is_published(self.head.0.load(Ordering::Acquire))
    }

    #[inline]
    fn is_published(&self, at: u64) -> bool {
        // Acquire: what the producer wrote before it published.
        self.slot(at).turn.load(Ordering::Acquire) == turn_of::<CAPACITY>(at) + 1
    }
}

impl<T, const CAPACITY: usize> Drop for Queue<T, CAPACITY> {
    fn drop(&mut self) {
        // SAFETY: `&mut self`: nobody else is here.
        while let Some(front) = unsafe { self.front() } {
            drop(front);
        }
    }
}

/// A position that belongs to the one who claimed it.
#[must_use = "the consumer cannot pass a position that is claimed and never published"]
pub(crate) struct Claim<'a, T> {
    slot: &'a Slot<T>,
    number: u64,
    written: u64,
}

impl<T> Claim<'_, T> {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Makes the value straight in its slot and hands it to the consumer. Returns its number.
    #[inline(always)]
    pub(crate) fn publish(self, make: impl FnOnce() -> T) -> u64 {
        self.slot.value.with_mut(|at| {
            // SAFETY: the claim succeeded at the slot's free turn, so the slot is ours until the store below.
            unsafe { at.cast::<T>().write(make()) };
        });
        self.slot.turn.store(self.written, Ordering::Release);
        self.number
    }
}

/// The item at the front. Dropping this drops the item and frees its slot.
pub(crate) struct Front<'a, T, const CAPACITY: usize> {
    queue: &'a Queue<T, CAPACITY>,
    at: u64,
}

impl<T, const CAPACITY: usize> Front<'_, T, CAPACITY> {
    pub(crate) fn number(&self) -> u64 {
        self.at + 1
    }

    /// Lends the item in place.
    #[inline]
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        self.queue.slot(self.at).value.with_mut(|at| {
            // SAFETY: the slot was published (`front`), and is the consumer's until `drop` moves its turn on; there is
            // one consumer (duty of `front`), and it lends the item once at a time (`&mut self`).
            f(unsafe { &mut *at.cast::<T>() })
        })
    }
}

impl<T, const CAPACITY: usize> Drop for Front<'_, T, CAPACITY> {
    #[inline]
    fn drop(&mut self) {
        let slot = self.queue.slot(self.at);
        slot.value.with_mut(|at| {
            // SAFETY: as in `with`; after this the slot is free, so the item is not touched again.
            unsafe { at.cast::<T>().drop_in_place() };
        });
        self.queue.head.0.store(self.at + 1, Ordering::Relaxed);
        slot.turn.store(turn_of::<CAPACITY>(self.at) + 2, Ordering::Release);
    }
}
