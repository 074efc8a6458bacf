//! What the tests share: a way to hold a stream, a way to break one, and an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use escrow::{DeviceContext, Error, StreamTag};

#[cfg(feature = "cuda")]
pub mod fake;
mod kernels;
pub mod mutations;
pub mod shmem_programs;

pub use kernels::{enqueue_mix, mixed};

/// The first GPU, for tests that run there too. Without one it says so, and the test is skipped.
#[cfg(feature = "cuda")]
#[must_use]
pub fn gpu() -> Option<escrow::Device> {
    match escrow::Device::cuda(0) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped on a GPU: {error}");
            None
        }
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Jobs that have been enqueued, by number. A kernel argument is plain data, so it carries the number.
static JOBS: Mutex<Option<HashMap<u64, Job>>> = Mutex::new(None);

/// Runs job `number`, on a stream's worker.
fn run_job(number: u64) {
    let job = JOBS.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|jobs| jobs.remove(&number));
    if let Some(job) = job {
        job();
    }
}

/// Enqueues `job`: it runs on the worker of `ctx`'s stream, as a kernel body on one thread.
///
/// # Errors
/// Those of a launch.
pub fn on_worker<S: StreamTag>(ctx: &DeviceContext<S>, job: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    JOBS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(number, Box::new(job));
    kernels::enqueue_job(ctx, number)
}

/// Makes the stream of `ctx` fail, as soon as it comes to it.
///
/// # Errors
/// Those of a launch.
pub fn fail<S: StreamTag>(ctx: &DeviceContext<S>) -> Result<(), Error> {
    // Not `panic!`: the hook would print a message for each failure that a test wants.
    on_worker(ctx, || std::panic::resume_unwind(Box::new("wanted by a test")))
}

/// A stream that stands still until this is dropped or released.
#[derive(Debug)]
#[must_use = "dropping it releases the stream at once"]
pub struct Held {
    release: Option<Sender<()>>,
    reached: Receiver<()>,
}

impl Held {
    /// Blocks until the stream has come to the hold.
    ///
    /// # Panics
    /// If the stream skipped the hold, because it failed before.
    pub fn reached(&self) {
        self.reached.recv().expect("the stream came to the hold");
    }

    /// Lets the stream go on.
    pub fn release(mut self) {
        self.release = None;
    }
}

/// Lets the stream of `ctx` stand still at this point: nothing that is enqueued from now on runs until the result is
/// dropped.
///
/// # Errors
/// Those of a launch.
pub fn hold<S: StreamTag>(ctx: &DeviceContext<S>) -> Result<Held, Error> {
    let (release, held) = channel::<()>();
    let (here, reached) = channel();
    on_worker(ctx, move || {
        let _ = here.send(());
        // Ends when the sender is dropped.
        let _ = held.recv();
    })?;
    Ok(Held { release: Some(release), reached })
}

/// The system's allocator, which counts what each thread asks of it. Put it into a test binary with
/// `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: everything goes to `System`, unchanged; counting touches a thread-local that allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's duty.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's duty.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's duty.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's duty.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Allocations that `f` makes on this thread. Counts nothing unless [`Counting`] is the binary's allocator.
pub fn allocations<R>(f: impl FnOnce() -> R) -> (u64, R) {
    let before = ALLOCATIONS.get();
    let result = f();
    (ALLOCATIONS.get() - before, result)
}
