//! The locked driver. All of its state is behind one lock, which is let go only to wait and to call host functions.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::driver::Driver;

static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| Mutex::new(Driver::new()));
static CHANGED: Condvar = Condvar::new();
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The driver, locked for one call.
#[derive(Debug)]
pub(crate) struct Session {
    // `None` only inside `unlocked` and `wait`.
    guard: Option<MutexGuard<'static, Driver>>,
    call: &'static str,
}

impl Session {
    /// Locks the driver for the call `call`.
    pub(crate) fn open(call: &'static str) -> Self {
        let mut guard = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        guard.call = call;
        Self { guard: Some(guard), call }
    }

    /// Locks the driver unless somebody has it.
    pub(crate) fn try_open(call: &'static str) -> Option<Self> {
        let mut guard = match DRIVER.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        guard.call = call;
        Some(Self { guard: Some(guard), call })
    }

    /// Lets go of the lock while `f` runs.
    pub(crate) fn unlocked<R>(&mut self, f: impl FnOnce() -> R) -> R {
        self.guard = None;
        let result = f();
        *self = Self::open(self.call);
        result
    }

    /// Waits until something ran.
    pub(crate) fn wait(&mut self) {
        if let Some(guard) = self.guard.take() {
            WAITING.fetch_add(1, Ordering::Relaxed);
            self.guard = Some(CHANGED.wait(guard).unwrap_or_else(PoisonError::into_inner));
            WAITING.fetch_sub(1, Ordering::Relaxed);
        }
        let call = self.call;
        self.deref_mut().call = call;
    }

    /// Wakes whoever waits. Called with the lock held, as the count of those who wait is only right then.
    pub(crate) fn changed() {
        // A notification is a system call, whether somebody waits or not.
        if WAITING.load(Ordering::Relaxed) > 0 {
            CHANGED.notify_all();
        }
    }
}

impl Deref for Session {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        self.guard.as_ref().expect("locked between calls of `unlocked` and `wait`")
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Driver {
        self.guard.as_mut().expect("locked between calls of `unlocked` and `wait`")
    }
}
