//! SHMEM on the engine `local`: every operation, jobs of 1 to 4 PEs, plain and under chaos; random programs against a
//! sequential model; and the invariants 16 to 20 of the memory model (`docs/soundness.md`), each with the edit of the library
//! that makes its test fail: "Broken on purpose".
//!
//! Where a PE must be late, a kernel body or a channel holds it, so nothing here depends on timing. A job that hangs fails its
//! test by [`in_time`].

#[path = "shmem/collectives.rs"]
mod collectives;
#[path = "shmem/diverge.rs"]
mod diverge;
#[path = "shmem/escape.rs"]
mod escape;
#[path = "shmem/failure.rs"]
mod failure;
#[path = "shmem/heap.rs"]
mod heap;
#[path = "shmem/kernels.rs"]
mod kernels;
#[path = "shmem/model.rs"]
mod model;
#[path = "shmem/moves.rs"]
mod moves;
#[path = "shmem/phases.rs"]
mod phases;
#[path = "shmem/process.rs"]
mod process;
#[path = "shmem/signals.rs"]
mod signals;
#[path = "shmem/teams.rs"]
mod teams;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use escrow::{DType, Device, DeviceBuffer, Dyn, Error, ShmemBuffer, ShmemContext, shmem};

/// Devices for the PEs: as they are, and with streams that run as late as they may.
fn devices() -> [Device; 3] {
    [Device::cpu(), Device::cpu_chaos(3), Device::cpu_chaos(0x5EED)]
}

/// Runs `f` as jobs of 1 to 4 PEs on all [`devices`].
#[track_caller]
fn everywhere(f: impl Fn(&ShmemContext) -> Result<(), Error> + Sync) {
    for pes in 1..=4 {
        for device in devices() {
            let name = device.name();
            shmem::launch_on(Dyn, device, pes, &f).unwrap_or_else(|error| panic!("{pes} PEs on {name}: {error}"));
        }
    }
}

/// What `f` returns, if it does within 5 s, as jobs do that fail.
#[track_caller]
fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let start = Instant::now();
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        let _ = sender.send(f());
    });
    match receiver.recv_timeout(Duration::from_secs(20)) {
        Ok(result) => {
            assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
            result
        }
        Err(RecvTimeoutError::Timeout) => panic!("it hangs"),
        Err(RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

/// A plain device buffer with these elements.
fn plain<T: DType>(job: &ShmemContext, values: &[T]) -> Result<DeviceBuffer<T>, Error> {
    Ok(job.context().enqueue_create_buffer::<T>(values.len())?.copy_from_slice(values)?)
}

/// A local symmetric buffer with these elements.
fn local<'job, T: DType>(job: &'job ShmemContext, values: &[T]) -> Result<ShmemBuffer<'job, T>, Error> {
    Ok(job.create_buffer::<T>(values.len())?.copy_from_slice(values)?)
}

/// A panic without the hook's message, which would clutter the output of a test that wants it.
fn quiet_panic(text: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(text))
}

/// The failure of a PE, as `(pe, message)`.
#[track_caller]
fn pe_failed(error: &Error) -> (usize, &str) {
    let Error::PeFailed(failure) = error else { panic!("{error}") };
    (failure.pe, &failure.message)
}
