//! What is kept until a stream has passed the work that uses it.

use std::collections::VecDeque;

use super::cpu::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};

/// The oldest mark of an empty list: never passed.
const EMPTY: u64 = u64::MAX;
/// Items taken out under one lock.
const BATCH: usize = 16;

/// Items that wait for a stream, each with the number of the last operation that may use it.
///
/// The one who passes marks publishes how far it is, then asks [`Parking::has_passed`] behind a `SeqCst` fence; the one
/// who parks pushes, then looks behind a `SeqCst` fence how far the other is, and sweeps if its mark was passed already.
/// So at least one of the two sees the other, and nothing is stranded.
pub(crate) struct Parking<T> {
    /// In the order of their marks, so that one whose time is later never hides one whose time has come.
    items: Mutex<VecDeque<(u64, T)>>,
    /// Mark of the first item.
    oldest: AtomicU64,
    /// Items that have not been dropped to the end yet.
    held: AtomicUsize,
    /// Held while items are dropped, so that a sweep returns only after those that it finds under way.
    sweeping: Mutex<()>,
}

impl<T> Parking<T> {
    pub(crate) fn new() -> Parking<T> {
        Parking {
            items: Mutex::new(VecDeque::new()),
            oldest: AtomicU64::new(EMPTY),
            held: AtomicUsize::new(0),
            sweeping: Mutex::new(()),
        }
    }

    /// Keeps `item` until `mark` has been passed.
    pub(crate) fn push(&self, mark: u64, item: T) {
        self.held.fetch_add(1, Ordering::Relaxed);
        let mut items = lock(&self.items);
        // Threads come here a little out of the order of their marks, so the right place is near the end.
        let mut place = items.len();
        while place > 0 && items[place - 1].0 > mark {
            place -= 1;
        }
        items.insert(place, (mark, item));
        self.oldest.store(items[0].0, Ordering::Relaxed);
    }

    /// Whether something is parked that may go now. A hint: ask it behind a fence.
    #[inline]
    pub(crate) fn has_passed(&self, done: u64) -> bool {
        self.oldest.load(Ordering::Relaxed) <= done
    }

    /// Whether all that this thread knows to be parked has been dropped.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.held.load(Ordering::Acquire) == 0
    }

    /// Drops the items whose mark is at most `done`, outside the lock that [`Parking::push`] takes. When this returns,
    /// those that another sweep took out before are gone too.
    #[cold]
    pub(crate) fn sweep(&self, done: u64) {
        let _sweeping = lock(&self.sweeping);
        loop {
            let mut batch: [Option<T>; BATCH] = [const { None }; BATCH];
            let mut taken = 0;
            {
                let mut items = lock(&self.items);
                while taken < BATCH {
                    let Some((_, item)) = items.pop_front_if(|(mark, _)| *mark <= done) else { break };
                    batch[taken] = Some(item);
                    taken += 1;
                }
                self.oldest.store(items.front().map_or(EMPTY, |first| first.0), Ordering::Relaxed);
            }
            drop(batch);
            // Release: who sees the smaller number sees the drops.
            self.held.fetch_sub(taken, Ordering::Release);
            if taken < BATCH {
                return;
            }
        }
    }
}
