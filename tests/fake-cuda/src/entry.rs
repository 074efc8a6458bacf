//! The way into every driver function: counting, the null mode, injected failures, delays, the log.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::abi::{CUresult, NOT_INITIALIZED, NOT_PERMITTED, SUCCESS};
use crate::report::Kind;
use crate::session::Session;

/// What a driver function's body gives: an error is its result code.
pub(crate) type Answer = Result<(), CUresult>;

/// How a function is treated before its body runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Needs `cuInit`.
    Call,
    /// Needs `cuInit`; only counted in the null mode.
    Queued,
    /// May come before `cuInit`, is allowed in host functions and never fails on request.
    Early,
}

/// One exported function.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) name: &'static str,
    mode: Mode,
    calls: AtomicU64,
    listed: AtomicBool,
}

/// Bits of `FLAGS`: what makes a call leave the fast path.
pub(crate) const NULL: u32 = 1;
pub(crate) const LOG: u32 = 2;
pub(crate) const FAULTS: u32 = 4;
pub(crate) const DELAY: u32 = 8;

static FLAGS: AtomicU32 = AtomicU32::new(0);
static TOTAL: AtomicU64 = AtomicU64::new(0);
static SITES: Mutex<Vec<&'static Site>> = Mutex::new(Vec::new());

thread_local! {
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Sets or clears one bit of the flags.
pub(crate) fn set_flag(flag: u32, on: bool) {
    if on {
        FLAGS.fetch_or(flag, Ordering::Relaxed);
    } else {
        FLAGS.fetch_and(!flag, Ordering::Relaxed);
    }
}

/// Whether a bit is set.
pub(crate) fn flag(flag: u32) -> bool {
    FLAGS.load(Ordering::Relaxed) & flag != 0
}

/// Calls so far, of any driver function but the early ones.
pub(crate) fn total() -> u64 {
    TOTAL.load(Ordering::Relaxed)
}

/// Calls so far by name; 0 for functions never called.
pub(crate) fn counts() -> Vec<(&'static str, u64)> {
    let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counts: Vec<_> = sites.iter().map(|s| (s.name, s.calls.load(Ordering::Relaxed))).collect();
    counts.sort_unstable();
    counts
}

/// Sets all counters to 0.
pub(crate) fn clear_counts() {
    for site in SITES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        site.calls.store(0, Ordering::Relaxed);
    }
    TOTAL.store(0, Ordering::Relaxed);
}

/// Marks this thread as inside a host function for the time of `f`: driver calls are not allowed there.
pub(crate) fn host_function(f: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    f();
    IN_HOST_FUNCTION.set(false);
}

impl Site {
    pub(crate) const fn new(name: &'static str, mode: Mode) -> Self {
        Self { name, mode, calls: AtomicU64::new(0), listed: AtomicBool::new(false) }
    }

    /// Counts a call. Tells whether the body is to run.
    #[inline]
    pub(crate) fn count(&'static self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if !self.listed.load(Ordering::Relaxed) {
            self.list();
        }
        if self.mode != Mode::Early {
            TOTAL.fetch_add(1, Ordering::Relaxed);
        }
        !(self.mode == Mode::Queued && flag(NULL))
    }

    #[cold]
    fn list(&'static self) {
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.listed.swap(true, Ordering::Relaxed) {
            sites.push(self);
        }
    }
}

/// Runs a function's body with the driver locked.
pub(crate) fn enter(
    site: &'static Site,
    args: &dyn Fn() -> String,
    body: &mut dyn FnMut(&mut Session) -> Answer,
) -> CUresult {
    let flags = FLAGS.load(Ordering::Relaxed);
    if flags & DELAY != 0 {
        crate::schedule::stumble();
    }
    let mut session = Session::open(site.name);
    let result = if site.mode == Mode::Early {
        body(&mut session)
    } else if IN_HOST_FUNCTION.get() {
        session.report(Kind::NotPermitted, &format!("{} inside a host function", site.name));
        Err(NOT_PERMITTED)
    } else if flags & FAULTS != 0
        && let Some(fault) = session.fault(site.name)
    {
        let result = if fault.after { body(&mut session) } else { Ok(()) };
        if fault.sticky {
            session.fail_current(fault.code);
        }
        result.and(if fault.code == SUCCESS { Ok(()) } else { Err(fault.code) })
    } else if session.initialized || site.name == "cuInit" {
        body(&mut session)
    } else {
        Err(NOT_INITIALIZED)
    };
    let code = result.err().unwrap_or(SUCCESS);
    if flags & LOG != 0 {
        session.log_call(site.name, &args(), code);
    }
    drop(session);
    if flags & DELAY != 0 {
        crate::schedule::stumble();
    }
    code
}

/// Defines exported driver functions. A body is a closure from the locked driver to an [`Answer`]; it runs under the
/// contract of the driver's function of that name: pointers are null or valid for what the function reads or writes
/// there.
macro_rules! driver_calls {
    ($($(#[$doc:meta])* $mode:ident $name:ident($($arg:ident: $ty:ty),* $(,)?) |$d:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the driver's function of this name: its pointers are null or valid for what it reads and writes.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the driver's signature")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::abi::CUresult {
            static SITE: $crate::entry::Site =
                $crate::entry::Site::new(stringify!($name), $crate::entry::Mode::$mode);
            if !SITE.count() {
                return $crate::abi::SUCCESS;
            }
            $crate::entry::enter(
                &SITE,
                &|| -> String {
                    let all: &[String] = &[$($crate::entry::show(stringify!($arg), &$arg)),*];
                    all.join(", ")
                },
                // SAFETY: the caller of this function vouches for its pointers, see above.
                &mut |$d: &mut $crate::session::Session| -> $crate::entry::Answer {
                    #[allow(unused_unsafe, reason = "some bodies touch no pointer")]
                    // SAFETY: the caller of this function vouches for its pointers, see above.
                    unsafe { $body }
                },
            )
        }
    )*};
}
pub(crate) use driver_calls;

/// `name=value`. Large numbers are addresses, and read best as reports write them.
pub(crate) fn show(name: &str, value: &dyn std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.parse::<u64>() {
        Ok(address) if address > u64::from(u32::MAX) => format!("{name}={address:#x}"),
        _ => format!("{name}={text}"),
    }
}

/// Writes a result where the caller wants it.
///
/// # Safety
/// `place` is null or valid for a write.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(crate::abi::INVALID_VALUE);
    }
    // SAFETY: not null, so valid for a write. `write_unaligned`: C callers hand over packed fields at times.
    unsafe { place.write_unaligned(value) };
    Ok(())
}
