//! Helper threads that all streams share, and how a kernel is divided among them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::become_worker;
use super::core::{cores, spin_until};
use super::gate::Gate;
use super::sync::lock;
use crate::op::CpuLaunch;

/// Thread indices that a worker runs by itself first, to see what one costs.
const TRIAL: usize = 32;
/// A kernel that is over sooner than this is not worth a helper's wake-up.
const WORTH_HELP: Duration = Duration::from_micros(20);
/// What one share should take at least, so that taking it costs nothing in comparison.
const SHARE_NANOS: u128 = 5_000;

/// Work in chunks, for the caller and whoever helps.
struct Job {
    body: Body,
    chunks: usize,
    /// The next chunk that nobody has taken.
    next: AtomicUsize,
    /// Helpers that have entered and not left. It grows only under the team's lock, while the job is listed there.
    inside: AtomicUsize,
    /// The first panic.
    panic: Mutex<Option<String>>,
    left: Gate,
}

/// The caller's closure. Its lifetime is [`run`]'s matter.
struct Body(*const (dyn Fn(usize) + Sync));

// SAFETY: the closure is `Sync`, so calls through the pointer may come from any thread.
unsafe impl Send for Body {}
// SAFETY: as above.
unsafe impl Sync for Body {}

impl Job {
    /// Runs chunks until none is left.
    ///
    /// # Safety
    /// The closure lives: `run` has not returned.
    unsafe fn work(&self) {
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= self.chunks {
                return;
            }
            // SAFETY: the caller's duty.
            let body = unsafe { &*self.body.0 };
            if let Err(message) = caught(|| body(chunk)) {
                lock(&self.panic).get_or_insert(message);
                // What nobody has started need not be done: the result is lost.
                self.next.store(self.chunks, Ordering::Relaxed);
            }
        }
    }
}

/// Jobs that want helpers, one entry for each helper wanted.
struct Team {
    state: Mutex<State>,
    bell: Condvar,
}

struct State {
    wanted: Vec<Arc<Job>>,
    started: usize,
    idle: usize,
}

static TEAM: Team = Team { state: Mutex::new(State { wanted: Vec::new(), started: 0, idle: 0 }), bell: Condvar::new() };

/// Calls `body` once for each chunk, on this thread and up to `threads - 1` helpers. Returns after all have left it;
/// with what the first panic said, if there was one, and then not all chunks need have run.
///
/// The caller can always finish by itself, so streams that compete for helpers cannot block each other.
pub(super) fn run(threads: usize, chunks: usize, body: &(dyn Fn(usize) + Sync)) -> Result<(), String> {
    let helpers = threads.min(chunks).min(cores()).saturating_sub(1);
    #[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot make a trait object's lifetime longer")]
    // SAFETY: only the lifetime changes. `Job::work` is what uses the pointer, and below no helper is inside of it, nor
    // can enter it, when this function returns.
    let body =
        unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(body) };
    let job = Arc::new(Job {
        body: Body(body),
        chunks,
        next: AtomicUsize::new(0),
        inside: AtomicUsize::new(0),
        panic: Mutex::new(None),
        left: Gate::new(),
    });
    if helpers > 0 {
        call(&job, helpers);
    }
    // SAFETY: this is `run`.
    unsafe { job.work() };
    if helpers > 0 {
        // From here on nobody enters.
        lock(&TEAM.state).wanted.retain(|wanted| !Arc::ptr_eq(wanted, &job));
        // Acquire: what the helpers wrote.
        let all_left = || job.inside.load(Ordering::Acquire) == 0;
        if !spin_until(all_left) {
            job.left.sleep(0, all_left);
        }
    }
    let panic = lock(&job.panic).take();
    panic.map_or(Ok(()), Err)
}

/// Asks for helpers, and starts them if there are too few.
fn call(job: &Arc<Job>, helpers: usize) {
    let mut state = lock(&TEAM.state);
    state.wanted.extend((0..helpers).map(|_| Arc::clone(job)));
    while state.idle < state.wanted.len() && state.started + 1 < cores() {
        let helper = thread::Builder::new().name("escrow helper".to_owned());
        if helper.spawn(help).is_err() {
            // Fewer will do.
            break;
        }
        state.started += 1;
        state.idle += 1;
    }
    drop(state);
    if helpers == 1 {
        TEAM.bell.notify_one();
    } else {
        TEAM.bell.notify_all();
    }
}

/// A helper's life. It counts as idle from its start.
fn help() {
    become_worker();
    let mut state = lock(&TEAM.state);
    loop {
        let Some(job) = state.wanted.pop() else {
            state = TEAM.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.idle -= 1;
        job.inside.fetch_add(1, Ordering::Relaxed);
        drop(state);
        // SAFETY: the job was listed and we entered under the lock, so `run` waits until `inside` falls again.
        unsafe { job.work() };
        // Release: what the chunks wrote.
        job.inside.fetch_sub(1, Ordering::Release);
        job.left.notify(0);
        drop(job);
        state = lock(&TEAM.state);
        state.idle += 1;
    }
}

/// Runs a kernel body over all its thread indices. An error is what the first panic said.
///
/// # Safety
/// `launch.args` holds the arguments that `launch.run` reads, and what they point to is the kernel's to use.
pub(super) unsafe fn launch(launch: &CpuLaunch, threads: usize) -> Result<(), String> {
    struct Args(*const u8);
    // SAFETY: bodies only read their arguments, and those are `Send` and `Sync` (the sealed traits of kernel arguments).
    unsafe impl Sync for Args {}
    impl Args {
        fn get(&self) -> *const u8 {
            self.0
        }
    }

    let args = Args(launch.args.as_ptr());
    let run = launch.run;
    // SAFETY: the caller's duty; each index is run once.
    let call = |start: usize, end: usize| unsafe { run(args.get(), start, end) };
    let count = launch.threads;
    if count == 0 {
        return Ok(());
    }
    if launch.single || threads == 1 || count <= TRIAL {
        return caught(|| call(0, count));
    }
    let start = Instant::now();
    caught(|| call(0, TRIAL))?;
    let nanos = start.elapsed().as_nanos().max(1);
    let rest = count - TRIAL;
    if nanos * (rest as u128) < WORTH_HELP.as_nanos() * TRIAL as u128 {
        return caught(|| call(TRIAL, count));
    }
    let least = usize::try_from(SHARE_NANOS * TRIAL as u128 / nanos).unwrap_or(usize::MAX).max(1);
    let share = rest.div_ceil(4 * threads).max(least);
    // Whole cache lines, so that two threads do not write to one.
    let share = if share > 64 { share.next_multiple_of(64) } else { share };
    self::run(threads, rest.div_ceil(share), &|chunk| {
        let start = TRIAL + chunk * share;
        call(start, count.min(start + share));
    })
}

/// Runs `f` and turns a panic into what it said.
fn caught(f: impl FnOnce()) -> Result<(), String> {
    // Unwind safety: what a failed kernel leaves half written is plain data, and its stream says that it failed.
    catch_unwind(AssertUnwindSafe(f)).map_err(message)
}

/// What a panic said.
fn message(payload: Box<dyn Any + Send>) -> String {
    let message = if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is not text".to_owned()
    };
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Its drop may panic as well, and so on for ever.
        std::mem::forget(second);
    }
    message
}
