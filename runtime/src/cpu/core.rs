//! A stream and its worker.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::chaos::Scheduler;
use super::event::Event;
use super::gate::Gate;
use super::queue::{Claim, Queue};
use super::{become_worker, is_worker, memory, team};
use crate::block::BlockRef;
use crate::error::{Error, Failure, Operation};
use crate::op::Op;
use crate::parking::Parking;

/// Operations that a stream holds before its enqueuers have to wait.
pub(super) const CAPACITY: usize = if cfg!(miri) { 16 } else { 1024 };

/// How long a thread looks for its work or its result without a pause.
const SPIN: Duration = Duration::from_micros(15);
/// How long it then goes on looking while it lets other threads run. Waking a sleeper takes tens of microseconds.
const LINGER: Duration = Duration::from_micros(100);

/// How long half a full queue may take before an enqueuer is content with less.
const GOES_ON: Duration = Duration::from_millis(1);

/// Operations between two looks at the parking list while there is work.
const SWEEP_EVERY: u64 = 16;

/// `failed_at` of a stream that has not failed.
const NEVER: u64 = u64::MAX;

/// One stream: its queue, how far its worker is, and what waits for it.
#[repr(align(128))]
pub(crate) struct Core {
    queue: Queue<Op, CAPACITY>,
    /// With it, the worker runs only what was granted.
    chaos: Option<Arc<Scheduler>>,
    threads: usize,
    /// Where the worker sleeps when it has nothing to do.
    work: Gate,
    /// Number of the last operation that the worker may run; all, without chaos.
    granted: AtomicU64,
    closed: AtomicBool,
    /// Number of the last operation passed, executed or skipped.
    done: AtomicU64,
    /// Number of the first operation that failed.
    failed_at: AtomicU64,
    failure: OnceLock<Error>,
    /// Where those sleep who wait for `done`.
    passed: Gate,
    parking: Parking<BlockRef>,
}

impl Core {
    /// Starts a stream whose copies, fills and kernels use up to `threads` threads.
    pub(crate) fn spawn(threads: usize, chaos: Option<Arc<Scheduler>>) -> Result<Arc<Core>, Error> {
        let _ = cores(); // asked here, so that no wait is the first to ask the system
        let core = Arc::new(Core {
            queue: Queue::new(),
            threads: threads.max(1),
            work: Gate::new(),
            granted: AtomicU64::new(if chaos.is_some() { 0 } else { u64::MAX }),
            chaos,
            closed: AtomicBool::new(false),
            done: AtomicU64::new(0),
            failed_at: AtomicU64::new(NEVER),
            failure: OnceLock::new(),
            passed: Gate::new(),
            parking: Parking::new(),
        });
        let worker = Arc::clone(&core);
        thread::Builder::new()
            .name("escrow stream".to_owned())
            .spawn(move || worker.live())
            .map_err(|error| Error::Thread(Arc::new(error)))?;
        if let Some(chaos) = &core.chaos {
            chaos.join(&core);
        }
        Ok(core)
    }

    /// Puts `op` behind what was enqueued before. Blocks while the queue is full.
    #[inline(always)]
    pub(crate) fn enqueue(&self, what: Operation, op: Op) -> Result<(), Error> {
        // The variant is known where this is inlined, so one arm is left, and only the fields of that variant are
        // written, straight into the slot.
        match op {
            Op::Copy { dst, src, bytes } => self.put(what, None, move || Op::Copy { dst, src, bytes }),
            Op::Fill { dst, pattern, size, count } => {
                self.put(what, None, move || Op::Fill { dst, pattern, size, count })
            }
            Op::Launch(launch) => self.put(what, None, move || Op::Launch(launch)),
            Op::Call(call) => self.put(what, None, move || Op::Call(call)),
            Op::Wait(event) => self.put(what, Some(&event.clone()), move || Op::Wait(event)),
            Op::After(event) => self.put(what, Some(&event.clone()), move || Op::After(event)),
        }
    }

    #[inline(always)]
    fn put(&self, what: Operation, awaited: Option<&Event>, make: impl FnOnce() -> Op) -> Result<(), Error> {
        if is_worker() {
            return Err(Error::FromWorker { op: what });
        }
        let claim = if self.chaos.is_none() { self.queue.claim() } else { None };
        let claim = match claim {
            Some(claim) => claim,
            None => self.claim_slowly(awaited),
        };
        claim.publish(make);
        self.work.notify(0);
        if self.chaos.is_some() {
            self.stir();
        }
        Ok(())
    }

    /// Runs `f` on this thread as the next operation, if the stream stands still: what was enqueued has been passed, and the
    /// worker waits for more. Else `None`. A short operation is over before the worker would have seen it, and one that this
    /// thread waits for anyhow needs no other thread. An error fails the stream.
    #[inline]
    pub(crate) fn run_here<R>(&self, f: impl FnOnce() -> Result<R, Error>) -> Option<Result<R, Error>> {
        /// The stream could not go on.
        struct NoWayBack;
        impl Drop for NoWayBack {
            fn drop(&mut self) {
                std::process::abort();
            }
        }

        if self.chaos.is_some() || is_worker() {
            return None;
        }
        // `done` is read with Acquire: this thread sees what the worker did, also that the stream failed, which is asked
        // behind it for that.
        let done = self.done();
        if self.failed_at.load(Ordering::Relaxed) != NEVER {
            return None;
        }
        // Others who enqueue meanwhile are behind the claim, and the worker cannot pass it.
        let claim = self.queue.claim_behind(done)?;
        let number = claim.number();
        self.sweep_behind_wait();
        let unwinding = NoWayBack;
        let result = f();
        std::mem::forget(unwinding);
        if let Err(failure) = &result {
            let _ = self.failure.set(failure.clone());
            self.failed_at.store(number, Ordering::Release);
        }
        // SAFETY: the worker had passed everything before the position: it was the one behind `done`.
        unsafe { self.queue.pass(claim) };
        // The worker may have gone on from there already, and `done` never goes back.
        self.done.fetch_max(number, Ordering::Release);
        self.passed.notify(number);
        // The worker may sleep on, and was not there for what others parked meanwhile.
        self.sweep();
        // Who enqueued meanwhile may have woken the worker when it could not go on yet. Behind the fence in `notify`: it
        // is seen here, or the worker has seen that it can.
        if self.tail() != number {
            self.work.notify(0);
        }
        Some(result)
    }

    /// Claims where it takes more than a free slot: the queue is full, or a scheduler keeps the order.
    #[cold]
    #[inline(never)]
    fn claim_slowly(&self, awaited: Option<&Event>) -> Claim<'_, Op> {
        if let Some(chaos) = &self.chaos {
            return chaos.claim(self, awaited);
        }
        loop {
            // The slot of the next position is free when the operation one lap before it has been passed. To be woken for
            // each of them costs more than they do, so where the stream goes on this waits for half a lap.
            let next = self.tail() + 1;
            let (room, half) = (next.saturating_sub(CAPACITY as u64), next.saturating_sub(CAPACITY as u64 / 2));
            if !spin_until(|| self.has_passed(half)) {
                self.passed.sleep_at_most(GOES_ON, half, || self.has_passed(half));
            }
            self.block_until(room);
            if let Some(claim) = self.queue.claim() {
                return claim;
            }
            // Another enqueuer was faster.
        }
    }

    /// Lets the scheduler run something, after a call from the host.
    #[cold]
    #[inline(never)]
    fn stir(&self) {
        if let Some(chaos) = &self.chaos {
            chaos.step();
        }
    }

    /// Number of the last operation enqueued.
    #[inline]
    pub(crate) fn tail(&self) -> u64 {
        self.queue.tail()
    }

    /// Waits until operation `number` has been passed, and drops what was parked up to it. On a stream that has failed
    /// too, it first waits and then reports.
    pub(crate) fn wait(&self, what: Operation, number: u64) -> Result<(), Error> {
        if is_worker() {
            return Err(Error::FromWorker { op: what });
        }
        if let Some(chaos) = &self.chaos {
            chaos.run_until(self, number);
            chaos.step();
        } else {
            self.block_until(number);
        }
        self.sweep_behind_wait();
        self.outcome(number)
    }

    /// Whether operation `number` has been passed; an error if the stream had failed by then.
    pub(super) fn query(&self, number: u64) -> Result<bool, Error> {
        let finished = self.has_passed(number);
        if self.chaos.is_some() && !is_worker() {
            self.stir();
        }
        if !finished {
            return Ok(false);
        }
        self.sweep_behind_wait();
        self.outcome(number).map(|()| true)
    }

    /// A wait gives back what it covers: what its own thread parked is gone when it returns, also if the worker is just
    /// about to drop it.
    fn sweep_behind_wait(&self) {
        if !self.parking.is_empty() {
            self.parking.sweep(self.done());
        }
    }

    /// Keeps `block` until the operations enqueued so far have been passed. Waits for nothing.
    pub(crate) fn park(&self, block: BlockRef) {
        let mark = self.tail();
        self.parking.push(mark, block);
        // Against the fence behind the worker's store to `done`: it sees the block, or we see the new `done`.
        fence(Ordering::SeqCst);
        let done = self.done();
        if done >= mark {
            self.parking.sweep(done);
        }
    }

    /// The last handle is gone: the worker finishes what is enqueued, drops what is parked, and ends.
    pub(crate) fn close(&self) {
        if let Some(chaos) = &self.chaos {
            chaos.close(self);
        }
        self.closed.store(true, Ordering::Release);
        self.work.notify(0);
    }

    #[inline]
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn has_passed(&self, number: u64) -> bool {
        self.done() >= number
    }

    /// Claims the next position for the scheduler, which looks for room itself.
    pub(super) fn try_claim(&self) -> Option<Claim<'_, Op>> {
        self.queue.claim()
    }

    /// Lets the worker run up to operation `number`.
    pub(super) fn grant(&self, number: u64) {
        self.granted.store(number, Ordering::Release);
        self.work.notify(0);
    }

    /// Blocks this thread until operation `number` has been passed.
    fn block_until(&self, number: u64) {
        if !self.has_passed(number) && !spin_until(|| self.has_passed(number)) {
            self.passed.sleep(number, || self.has_passed(number));
        }
    }

    /// How the stream stood after operation `number`, which has been passed.
    fn outcome(&self, number: u64) -> Result<(), Error> {
        self.failure_at(number).map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn failure_at(&self, number: u64) -> Option<&Error> {
        if self.failed_at.load(Ordering::Acquire) <= number { self.failure.get() } else { None }
    }

    /// The worker's life. Bodies are caught, so what ends it early is a mistake in here; then nothing is left that could
    /// pass what others wait for, and they must not wait for ever.
    fn live(self: Arc<Core>) {
        if catch_unwind(AssertUnwindSafe(|| self.work())).is_err() {
            std::process::abort();
        }
    }

    fn work(self: &Arc<Core>) {
        become_worker();
        while self.await_work() {
            // SAFETY: this is the stream's one worker, and it holds one item at a time.
            let Some(mut front) = (unsafe { self.queue.front() }) else { continue };
            let number = front.number();
            let failed = self.failed_at.load(Ordering::Relaxed) != NEVER;
            if let Err(failure) = front.with(|op| self.execute(op, failed))
                && !failed
            {
                // The first failure stays.
                let _ = self.failure.set(failure);
                self.failed_at.store(number, Ordering::Release);
            }
            drop(front);
            // Release: who sees the number sees what the operation wrote, and whether it failed.
            self.done.store(number, Ordering::Release);
            self.passed.notify(number);
            if number.is_multiple_of(SWEEP_EVERY) {
                self.sweep();
            }
            if let Some(chaos) = &self.chaos {
                chaos.progressed();
            }
        }
        self.sweep();
        if let Some(chaos) = &self.chaos {
            chaos.leave(self);
        }
    }

    /// Drops what has been passed. Behind the fence in `passed.notify`, as `Parking` asks.
    fn sweep(&self) {
        let done = self.done.load(Ordering::Relaxed);
        if self.parking.has_passed(done) {
            self.parking.sweep(done);
        }
    }

    /// Waits for the next operation; `false` at the end of the stream.
    fn await_work(&self) -> bool {
        // Asked each time: `run_here` passes operations too.
        let next = || self.done.load(Ordering::Relaxed) + 1;
        let ready = || next() <= self.granted.load(Ordering::Acquire) && self.queue.is_ready();
        if ready() {
            return true;
        }
        self.sweep();
        let ended = || self.closed.load(Ordering::Acquire) && self.tail() < next();
        if !spin_until(|| ready() || ended()) {
            self.work.sleep(0, || ready() || ended());
        }
        !ended()
    }

    /// Executes `op`. On a stream that has failed only what orders it behind other streams is left: memory that is
    /// freed when this stream has passed a wait may be in use on the other one until then.
    fn execute(&self, op: &mut Op, failed: bool) -> Result<(), Error> {
        match op {
            Op::Wait(event) | Op::After(event) => self.block_worker_until(event),
            Op::Call(call) if failed => {
                if let Some(failure) = self.failure.get() {
                    // SAFETY: as for `run` below.
                    unsafe { (call.skip)(call.args.as_ptr(), failure) };
                }
                return Ok(());
            }
            _ if failed => return Ok(()),
            _ => {}
        }
        match op {
            Op::Copy { dst, src, bytes } => {
                // SAFETY: the duty of whoever made the operation: both ranges are valid and ours, and do not overlap.
                unsafe { memory::copy(*dst, *src, *bytes, self.threads) };
                Ok(())
            }
            Op::Fill { dst, pattern, size, count } => {
                // SAFETY: as above; the pattern holds an element of `size` bytes.
                unsafe { memory::fill(*dst, pattern.as_ptr(), *size, *count, self.threads) };
                Ok(())
            }
            Op::Launch(launch) => {
                // SAFETY: the duty of whoever made the operation: the arguments are those of the body.
                unsafe { team::launch(launch, self.threads) }
                    .map_err(|message| Error::StreamFailed(Arc::new(Failure { kernel: launch.kernel, message })))
            }
            Op::Call(call) => {
                // It may wait for other PEs, and nobody else frees what this stream has passed.
                self.sweep();
                // SAFETY: the duty of whoever made the operation: the arguments are those of the function.
                unsafe { (call.run)(call.args.as_ptr()) }
            }
            Op::Wait(event) => event.core().outcome(event.number()),
            Op::After(_) => Ok(()),
        }
    }

    fn block_worker_until(&self, event: &Event) {
        if !event.has_passed() {
            // It may take long, and nobody else frees what this stream has passed.
            self.sweep();
            event.core().block_until(event.number());
        }
    }
}

/// Cores of the machine.
pub(super) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Looks at `ready` for a short time; `false` if it never was.
pub(super) fn spin_until(mut ready: impl FnMut() -> bool) -> bool {
    /// Threads that spin now. More of them than cores would only keep those from working who could end the wait.
    static SPINNING: AtomicUsize = AtomicUsize::new(0);

    if ready() {
        return true;
    }
    let mut found = false;
    if cfg!(miri) || cores() == 1 {
        return false;
    }
    // Where there are more who look than cores, this one lets others run from the start.
    let spin = if SPINNING.fetch_add(1, Ordering::Relaxed) < cores() { SPIN } else { Duration::ZERO };
    let start = Instant::now();
    while !found {
        let waited = start.elapsed();
        if waited >= LINGER {
            break;
        }
        if waited >= spin {
            thread::yield_now();
        }
        for _ in 0..16 {
            spin_loop();
            found = found || ready();
        }
    }
    SPINNING.fetch_sub(1, Ordering::Relaxed);
    found || ready()
}
