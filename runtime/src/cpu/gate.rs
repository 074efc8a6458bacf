//! Sleeping until something has happened, at the price of one fence for those who make it happen.

use std::time::{Duration, Instant};

use super::sync::{AtomicU64, Condvar, Mutex, Ordering, PoisonError, fence, lock};

/// Nobody sleeps.
const NOBODY: u64 = u64::MAX;

/// Threads sleep here for a number that grows.
///
/// The sleeper says what it wants and then looks whether it is there; the other side makes it be there and then looks
/// whether somebody wants it. A fence stands between the two steps on both sides, so at least one of them sees the
/// other, and no wake-up is lost.
pub(crate) struct Gate {
    /// The smallest number that a sleeper wants; changed only under the lock.
    wanted: AtomicU64,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate { wanted: AtomicU64::new(NOBODY), lock: Mutex::new(()), bell: Condvar::new() }
    }

    /// Sleeps until `ready`. Whoever can make it so calls [`Gate::notify`] afterwards with at least `number`.
    #[cold]
    pub(crate) fn sleep(&self, number: u64, mut ready: impl FnMut() -> bool) {
        let mut held = lock(&self.lock);
        loop {
            if number < self.wanted.load(Ordering::Relaxed) {
                self.wanted.store(number, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            if ready() {
                // What is left in `wanted` costs the other side one needless ring at most.
                return;
            }
            held = self.bell.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As [`Gate::sleep`], for no longer than `time`.
    #[cold]
    pub(crate) fn sleep_at_most(&self, time: Duration, number: u64, mut ready: impl FnMut() -> bool) {
        let end = Instant::now() + time;
        let mut held = lock(&self.lock);
        loop {
            if number < self.wanted.load(Ordering::Relaxed) {
                self.wanted.store(number, Ordering::Relaxed);
            }
            fence(Ordering::SeqCst);
            let left = end.saturating_duration_since(Instant::now());
            if ready() || left.is_zero() {
                return;
            }
            held = self.bell.wait_timeout(held, left).map_or_else(|error| error.into_inner().0, |(held, _)| held);
        }
    }

    /// Wakes those who want `number` or less. Call it after the change that they wait for.
    ///
    /// It is a `SeqCst` fence in any case: what is read after it is newer than what others changed before theirs.
    #[inline]
    pub(crate) fn notify(&self, number: u64) {
        fence(Ordering::SeqCst);
        if number >= self.wanted.load(Ordering::Relaxed) {
            self.ring();
        }
    }

    #[cold]
    fn ring(&self) {
        let held = lock(&self.lock);
        // Those who want more than they find say so again.
        self.wanted.store(NOBODY, Ordering::Relaxed);
        // The lock is what keeps a sleeper from missing the bell between its look and its sleep.
        drop(held);
        self.bell.notify_all();
    }
}
