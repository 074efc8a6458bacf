//! The engine `local`: PEs are threads of this process.

use std::cell::Cell;
use std::hint::spin_loop;
use std::io::Write;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::card::Card;
use super::transport::{Alloc, Atomic, Rmw, Target, Transport, waited_line};
use crate::block::{Block, Place};
use crate::cpu::gate::Gate;
use crate::cpu::sync::lock;
use crate::error::{Divergence, Error, PeFailure};

pub(super) mod copy;

/// How long a PE may go on without a call after another one failed.
const GRACE: Duration = Duration::from_secs(5);
/// How often the launching thread looks at the PEs.
const LOOK: Duration = Duration::from_millis(100);

/// How long a worker looks for a word before it sleeps: waking it takes tens of microseconds, and steps of a job are shorter.
const LINGER: Duration = Duration::from_micros(200);

/// Looks at `ready` for a while; `false` if it never was. It lets other threads run, since the PE that is waited for may need
/// this core.
fn linger(ready: impl Fn() -> bool) -> bool {
    const LOOKS: u32 = if cfg!(miri) { 4 } else { 200 };
    for _ in 0..LOOKS {
        if ready() {
            return true;
        }
        spin_loop();
    }
    let start = Instant::now();
    while start.elapsed() < LINGER {
        std::thread::yield_now();
        if ready() {
            return true;
        }
    }
    false
}

/// What the PEs of a job share.
pub(crate) struct Job {
    seats: Box<[Seat]>,
    failure: OnceLock<Error>,
    failed: AtomicBool,
    /// PEs that have not ended yet.
    running: Mutex<usize>,
    ended: Condvar,
    chaotic: bool,
}

/// What the others see of one PE.
struct Seat {
    /// Where its worker sleeps until a word of its memory has changed.
    gate: Gate,
    calls: AtomicU64,
    over: AtomicBool,
    waiting: Mutex<Option<Waiting>>,
}

/// A wait that has become long enough for its worker to sleep.
struct Waiting {
    since: Instant,
    what: String,
    missing: Option<usize>,
    reported: bool,
    word: NonNull<AtomicU64>,
    ready: NonNull<dyn Fn(u64) -> bool>,
}

// SAFETY: word and condition are looked at under the seat's lock, and the wait takes that lock before they go. Conditions are
// functions of this crate that capture numbers.
unsafe impl Send for Waiting {}

impl Waiting {
    fn is_over(&self) -> bool {
        // SAFETY: both are there as long as this value (above).
        unsafe { self.ready.as_ref()(self.word.as_ref().load(Ordering::SeqCst)) }
    }
}

impl Job {
    pub(crate) fn new(pes: usize, chaotic: bool) -> Arc<Job> {
        let seat = |_| Seat {
            gate: Gate::new(),
            calls: AtomicU64::new(0),
            over: AtomicBool::new(false),
            waiting: Mutex::new(None),
        };
        Arc::new(Job {
            seats: (0..pes).map(seat).collect(),
            failure: OnceLock::new(),
            failed: AtomicBool::new(false),
            running: Mutex::new(pes),
            ended: Condvar::new(),
            chaotic,
        })
    }

    /// A PE's thread has ended, its stream too.
    pub(crate) fn leave(&self, pe: usize) {
        self.seats[pe].over.store(true, Ordering::Release);
        *lock(&self.running) -= 1;
        self.ended.notify_all();
    }

    /// Waits until all PEs have ended. Reports waits that are longer than `limit`, and ends the process if a PE does not
    /// notice that the job has failed.
    pub(crate) fn watch(&self, limit: Duration) {
        let mut seen: Vec<(u64, Instant)> = Vec::new();
        let mut running = lock(&self.running);
        while *running > 0 {
            running = self.ended.wait_timeout(running, LOOK).map_or_else(|e| e.into_inner().0, |(guard, _)| guard);
            self.report(limit);
            if let Some(error) = self.standstill() {
                self.fail(&error);
            }
            let Some(failure) = self.failure.get() else { continue };
            let now = Instant::now();
            if seen.is_empty() {
                seen = self.seats.iter().map(|seat| (seat.calls.load(Ordering::Relaxed), now)).collect();
            }
            for (pe, (seat, (calls, since))) in self.seats.iter().zip(&mut seen).enumerate() {
                let made = seat.calls.load(Ordering::Relaxed);
                if made != *calls || seat.over.load(Ordering::Acquire) {
                    (*calls, *since) = (made, now);
                } else if now - *since > GRACE {
                    tell(&format!(
                        "{failure}. PE {pe} has made no call for {} s since then, so the process ends",
                        GRACE.as_secs()
                    ));
                    std::process::abort();
                }
            }
        }
    }

    fn fail(&self, error: &Error) {
        let _ = self.failure.set(error.clone()); // the first failure stays
        self.failed.store(true, Ordering::Release);
        for seat in &self.seats {
            seat.gate.notify(0);
        }
    }

    /// An error if all streams stand at waits that only another stream of the job could end.
    ///
    /// With all the locks held no stream gets out of its wait, and what stands in a wait changes no word. So if no wait is
    /// over, none ever will be.
    fn standstill(&self) -> Option<Error> {
        if self.failed.load(Ordering::Acquire) {
            return None;
        }
        let seats: Vec<_> = self.seats.iter().map(|seat| lock(&seat.waiting)).collect();
        let waits: Option<Vec<&Waiting>> = seats.iter().map(|seat| seat.as_ref()).collect();
        let waits = waits.filter(|waits| waits.iter().all(|wait| !wait.is_over()))?;
        let Some(pe) = waits.iter().position(|wait| wait.missing.is_none()) else {
            let there = waits[0].missing.unwrap_or(0);
            let (here, there) = ((0, waits[0].what.clone()), (there, waits[there].what.clone()));
            return Some(Error::Diverged(Divergence { here, there }.into()));
        };
        let others: Vec<String> = (0..waits.len())
            .filter(|other| *other != pe)
            .map(|other| format!("PE {other} is in {}", waits[other].what))
            .collect();
        let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        let message = format!("it waits for a signal that nobody can send any more{others}");
        Some(Error::PeFailed(PeFailure { pe, message }.into()))
    }

    fn report(&self, limit: Duration) {
        for (pe, seat) in self.seats.iter().enumerate() {
            if let Some(waiting) = &mut *lock(&seat.waiting)
                && !waiting.reported
                && waiting.since.elapsed() > limit
            {
                waiting.reported = true;
                let line = waited_line(pe, limit, &waiting.what, waiting.missing);
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }
}

/// Says something to people. Not `eprintln!`, which panics where nobody reads: others wait for this thread.
fn tell(what: &str) {
    let _ = writeln!(std::io::stderr(), "escrow: {what}");
}

/// One PE of a job.
pub(crate) struct Local {
    job: Arc<Job>,
    me: usize,
}

impl Local {
    pub(crate) fn new(job: &Arc<Job>, me: usize) -> Local {
        Local { job: Arc::clone(job), me }
    }

    fn seat(&self) -> &Seat {
        &self.job.seats[self.me]
    }

    fn failure(&self) -> Error {
        self.job.failure.get().cloned().expect("it was set before `failed`")
    }
}

/// Memory of 8 bytes that several PEs use.
///
/// # Safety
/// `at` is aligned to 8 and valid for the life that the caller gives it; all use it as an atomic or by `copy`.
unsafe fn wide<'a>(at: *mut u8) -> &'a AtomicU64 {
    // SAFETY: the caller's duty.
    unsafe { AtomicU64::from_ptr(at.cast()) }
}

impl Transport for Local {
    fn name(&self) -> &'static str {
        "local"
    }
    fn me(&self) -> usize {
        self.me
    }
    fn n_pes(&self) -> usize {
        self.job.seats.len()
    }
    fn is_near(&self, _: usize) -> bool {
        true
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), Error> {
        if self.job.failed.load(Ordering::Acquire) { Err(self.failure()) } else { Ok(()) }
    }

    fn fail(&self, error: &Error) {
        self.job.fail(error);
    }

    unsafe fn put(&self, dst: Target, src: *const u8, bytes: usize, pe: usize) {
        // SAFETY: the caller's duty; what other PEs do with these bytes they do by `copy` and atomics.
        unsafe { copy::copy(dst.there(pe), src, bytes) };
    }

    unsafe fn get(&self, dst: *mut u8, src: Target, bytes: usize, pe: usize) {
        // SAFETY: as above.
        unsafe { copy::copy(dst, src.there(pe), bytes) };
    }

    // A copy is done when it returns; what is left is that others see it before a word that is stored behind it.
    fn fence(&self) {
        fence(Ordering::Release);
    }
    fn quiet(&self) {
        fence(Ordering::Release);
    }

    unsafe fn set_word(&self, word: Target, value: u64, pe: usize) {
        // SAFETY: the caller's duty.
        unsafe { wide(word.there(pe)) }.store(value, Ordering::Release);
        self.job.seats[pe].gate.notify(0);
    }

    unsafe fn add_word(&self, word: Target, value: u64, pe: usize) {
        // SAFETY: the caller's duty.
        unsafe { wide(word.there(pe)) }.fetch_add(value, Ordering::Release);
        self.job.seats[pe].gate.notify(0);
    }

    unsafe fn atomic(&self, what: Atomic) -> u64 {
        const ORDER: Ordering = Ordering::AcqRel;
        macro_rules! apply {
            ($cell:expr, $t:ty) => {{
                let (cell, operand) = ($cell, what.operand as $t);
                u64::from(match what.rmw {
                    Rmw::Fetch => cell.load(Ordering::Acquire),
                    Rmw::Set => cell.swap(operand, ORDER),
                    Rmw::Add => cell.fetch_add(operand, ORDER),
                    Rmw::And => cell.fetch_and(operand, ORDER),
                    Rmw::Or => cell.fetch_or(operand, ORDER),
                    Rmw::Xor => cell.fetch_xor(operand, ORDER),
                    Rmw::CompareSwap => {
                        let compared = cell.compare_exchange(what.compare as $t, operand, ORDER, Ordering::Acquire);
                        compared.unwrap_or_else(|old| old)
                    }
                })
            }};
        }
        // SAFETY: the caller's duty.
        let at = unsafe { what.at.there(what.pe) };
        if what.wide {
            // SAFETY: aligned and valid, by the caller's duty.
            apply!(unsafe { wide(at) }, u64)
        } else {
            // SAFETY: as above, for 4 bytes.
            apply!(unsafe { AtomicU32::from_ptr(at.cast()) }, u32)
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
        let word = unsafe { wide(word.here()) };
        // What was seen counts: the word may have another value by the next look.
        let seen = Cell::new(None);
        let look = || {
            let value = word.load(Ordering::Acquire);
            if ready(value) {
                seen.set(Some(value));
            }
            seen.get().is_some() || self.job.failed.load(Ordering::Acquire)
        };
        // Under chaos the other side runs at calls of its own thread only: there is nothing to spin for.
        if !look() && (self.job.chaotic || !linger(look)) {
            // SAFETY: only the lifetime changes; the value is gone below before this returns.
            let ready =
                NonNull::from(unsafe { mem::transmute::<&dyn Fn(u64) -> bool, &'static dyn Fn(u64) -> bool>(ready) });
            let (since, what) = (Instant::now(), card.describe());
            *lock(&self.seat().waiting) =
                Some(Waiting { since, what, missing, reported: false, word: NonNull::from(word), ready });
            self.seat().gate.sleep(0, look);
            *lock(&self.seat().waiting) = None;
        }
        seen.get().ok_or_else(|| self.failure())
    }

    fn allocate(&self, bytes: usize) -> Option<(NonNull<u8>, Option<Box<Block>>)> {
        let mut block = Block::from_system(Place::Device, bytes)?;
        if self.job.chaotic {
            block.poison();
        }
        Some((block.base(), Some(block)))
    }

    unsafe fn free(&self, mut alloc: Box<Alloc>) {
        if let Some(block) = &mut alloc.block
            && self.job.chaotic
        {
            block.poison();
        }
    }

    fn shares_addresses(&self) -> bool {
        true
    }

    unsafe fn peer(&self, at: Target, pe: usize) -> Option<*mut u8> {
        // SAFETY: the caller's duty.
        Some(unsafe { at.there(pe) })
    }

    fn called(&self) {
        // This thread alone writes it, so a load and a store are enough.
        let calls = &self.seat().calls;
        calls.store(calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
