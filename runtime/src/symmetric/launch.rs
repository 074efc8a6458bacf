//! The one way into a job.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use super::context::ShmemContext;
use super::engine::Engine as JobEngine;
use super::local::{Job, Local};
use super::transport::{Alloc, Transport};
use super::wire::{BOARD_BYTES, Wire, mail_bytes};
use crate::block::{Block, Place};
use crate::context::DeviceContext;
use crate::cpu::sync::lock;
use crate::device::{Device, Kind};
use crate::error::{Error, Memory, Operation, PeFailure, Setting};
use crate::stream::not_on_worker;
use crate::tag::{Dyn, StreamTag};

thread_local! {
    /// The job that this thread is a PE of.
    pub(super) static JOB: RefCell<Option<Announce>> = const { RefCell::new(None) };
}

/// Who tells the other PEs that this one has failed.
#[derive(Clone)]
pub(super) enum Announce {
    Cpu(Arc<dyn Transport>),
    /// A PE of NVSHMEM, by its number.
    #[cfg(feature = "cuda")]
    Gpu(usize),
}

/// Says that the job has failed, if this thread is a PE of one and is unwinding: before something waits that the others may
/// never let go on.
pub(crate) fn announce_panic() {
    if !std::thread::panicking() {
        return;
    }
    let job = JOB.try_with(|job| job.try_borrow().ok().and_then(|job| job.clone())).ok().flatten();
    match job {
        None => {}
        Some(Announce::Cpu(transport)) => transport.fail(&failed(transport.me(), "it panicked".to_owned())),
        #[cfg(feature = "cuda")]
        Some(Announce::Gpu(me)) => super::nvshmem::fail(me, &failed(me, "it panicked".to_owned())),
    }
}

pub(super) fn failed(pe: usize, message: String) -> Error {
    Error::PeFailed(PeFailure { pe, message }.into())
}

/// What a panic said.
pub(super) fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_else(|| "without a text".to_owned()))
}

/// Runs `f` on each of `pes` PEs, as the engine at hand has them, and returns the results of the PEs of this process, by
/// number. **Blocks** until all of them have ended.
///
/// The engine is the one that `ESCROW_SHMEM` names (`local`, `openshmem`, `nvshmem`); else `nvshmem` for a GPU
/// ([`launch_on`]); else `openshmem` where this process was started by Open MPI's `oshrun` or `mpirun`; else `local`.
///
/// - `local`: the PEs are threads of this process, which share its cores (`ESCROW_CPU_THREADS` is for each PE).
/// - `openshmem`: the PEs are processes, also on several hosts, and `f` runs once in each. `pes` must be the number that was
///   started, 1 without a launcher. A process has one job in its life. `SHMEM_SYMMETRIC_HEAP_SIZE` (such as `2G`; 256M if it
///   is not set) is the size of the symmetric heap.
/// - `nvshmem` (feature `cuda`): the PEs are processes with a GPU each, in turn, or a share of one. Without a launcher this
///   process is PE 0, and starts this program again, with its arguments, for each of the others; under `mpirun` set
///   `NVSHMEM_BOOTSTRAP=MPI`. `ESCROW_NVSHMEM` names `libnvshmem_host.so.3` where the system does not find it. A process has one
///   job in its life. With `ESCROW_SHMEM_CHECKED=1`, and in debug builds if it is not `0`, the PEs compare their calls at each
///   barrier and collective of all PEs, which then block; they always do where memory is created.
///
/// A PE that panics or returns an error ends the job. On `local` the calls of the others fail with [`Error::PeFailed`], and a
/// PE that makes no call of the job (its context, signals, teams) for 5 s after that is ended with the process. On the other engines the PE says on standard error why,
/// and all processes end with a status that is not 0; only an error that all PEs return is returned from `launch` on
/// `openshmem` too. A process that exits in the middle of its job ends it as well.
///
/// On the CPU, a PE that waits longer than `ESCROW_SHMEM_WAIT` seconds (60) for others says for whom, once, and waits on.
///
/// ```
/// use escrow::{Error, shmem};
/// let squares = shmem::launch(4, |job| Ok(job.my_pe().pow(2)))?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// What the first of this process's PEs returned, and [`Error::PeFailed`] for a panic; [`Error::Diverged`] if the PEs did not
/// make the same collective calls; [`Error::Job`] if the job could not start.
pub fn launch<R, F>(pes: usize, f: F) -> Result<Vec<R>, Error>
where
    R: Send,
    F: Fn(&ShmemContext) -> Result<R, Error> + Sync,
{
    start(Dyn, None, pes, f)
}

/// As [`launch`], with a name for the job's stream and a device: PEs of one host get its like with their share of the cores
/// each.
///
/// ```
/// use escrow::{Device, Error, ShmemBuffer, shmem};
/// escrow::streams! { Compute }
/// shmem::launch_on(Compute, Device::cpu_chaos(7), 2, |job| { // streams overtake each other wherever they may
///     let table: ShmemBuffer<'_, f32, Compute> = job.create_buffer_zeroed(4)?;
///     Ok(assert_eq!(table.to_vec()?, [0.0; 4]))
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As for [`launch`]; [`Error::Job`] if the engine has no PEs on such a device.
#[allow(clippy::needless_pass_by_value)] // as `DeviceContext::tagged` takes it
pub fn launch_on<S, R, F>(tag: S, device: Device, pes: usize, f: F) -> Result<Vec<R>, Error>
where
    S: StreamTag,
    R: Send,
    F: Fn(&ShmemContext<S>) -> Result<R, Error> + Sync,
{
    start(tag, Some(&device), pes, f)
}

/// Starts a job on PEs with devices like `device`, or such as the engine at hand has.
fn start<S, R, F>(tag: S, device: Option<&Device>, pes: usize, f: F) -> Result<Vec<R>, Error>
where
    S: StreamTag,
    R: Send,
    F: Fn(&ShmemContext<S>) -> Result<R, Error> + Sync,
{
    not_on_worker(Operation::Create)?;
    // Where the thread is at its end, and its locals are gone, no PE runs on it.
    if JOB.try_with(|job| job.borrow().is_some()).unwrap_or(false) {
        return Err(refused("this thread is a PE of a job already"));
    }
    if pes == 0 {
        return Err(refused("a job has at least 1 PE"));
    }
    let on_cpu = device.is_none_or(|device| matches!(device.kind(), Kind::Cpu(_)));
    match engine_at_hand(device)? {
        #[cfg(feature = "cuda")]
        Chosen::Nvshmem if device.is_none() || !on_cpu => super::nvshmem::launch(tag, pes, f),
        #[cfg(feature = "cuda")]
        Chosen::Nvshmem => Err(refused("PEs of the engine `nvshmem` are on GPUs")),
        _ if !on_cpu => Err(refused("PEs of the engines `local` and `openshmem` are on the CPU device")),
        Chosen::Local => launch_local(tag, device.unwrap_or(&Device::cpu()), pes, f),
        #[cfg(unix)]
        Chosen::OpenShmem => super::openshmem::launch(tag, device.unwrap_or(&Device::cpu()), pes, f),
    }
}

pub(super) fn refused(why: &str) -> Error {
    Error::Job(why.into())
}

/// An engine, by its name.
enum Chosen {
    Local,
    #[cfg(unix)]
    OpenShmem,
    #[cfg(feature = "cuda")]
    Nvshmem,
}

/// The engine that `ESCROW_SHMEM` names, or the one that fits how this process was started and what device is wanted.
fn engine_at_hand(device: Option<&Device>) -> Result<Chosen, Error> {
    const NAME: &str = "ESCROW_SHMEM";
    let expected = match (cfg!(unix), cfg!(feature = "cuda")) {
        (true, true) => "`local`, `openshmem` or `nvshmem` is expected",
        (true, false) => "`local` or `openshmem` is expected (`nvshmem` needs the feature `cuda`)",
        _ => "`local` is expected",
    };
    match std::env::var(NAME).as_deref() {
        Ok("local") => return Ok(Chosen::Local),
        #[cfg(unix)]
        Ok("openshmem") => return Ok(Chosen::OpenShmem),
        #[cfg(feature = "cuda")]
        Ok("nvshmem") => return Ok(Chosen::Nvshmem),
        Ok(value) => return Err(Error::Setting(Box::new(Setting { name: NAME, value: value.into(), expected }))),
        Err(_) => {}
    }
    #[cfg(feature = "cuda")]
    if super::nvshmem::is_started() || device.is_some_and(|device| device.ordinal().is_some()) {
        return Ok(Chosen::Nvshmem);
    }
    let _ = device;
    #[cfg(unix)]
    if super::openshmem::world_size()?.is_some() {
        return Ok(Chosen::OpenShmem);
    }
    Ok(Chosen::Local)
}

/// PEs of one process.
const MOST_PES: usize = 4096;

/// How long a PE waits for the others before it says for whom.
pub(super) fn wait_limit() -> Result<Duration, Error> {
    const NAME: &str = "ESCROW_SHMEM_WAIT";
    let Ok(value) = std::env::var(NAME) else { return Ok(Duration::from_mins(1)) };
    let expected = "a number of seconds is expected";
    value
        .parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| Error::Setting(Box::new(Setting { name: NAME, value: value.into(), expected })))
}

/// What a PE leaves behind that fails.
#[allow(dead_code)] // they are there to be dropped
enum Left<R> {
    Value(R),
    Panic(Box<dyn Any + Send>),
}

/// Runs `f` as the PE of `ctx`. When this returns, its stream has passed everything; it does not unwind.
pub(super) fn run_pe<S: StreamTag, R>(
    ctx: DeviceContext<S>,
    engine: JobEngine,
    announce: Announce,
    f: impl FnOnce(&ShmemContext<S>) -> Result<R, Error>,
) -> (Result<R, Error>, JobEngine) {
    let me = engine.me();
    JOB.with(|job| *job.borrow_mut() = Some(announce));
    let job = ShmemContext::new(ctx, engine);
    let (result, left) = match catch_unwind(AssertUnwindSafe(|| f(&job))) {
        Ok(Ok(value)) => match job.end(false) {
            Ok(()) => (Ok(value), None),
            Err(error) => (Err(error), Some(Left::Value(value))),
        },
        Ok(Err(error)) => (Err(error), None),
        Err(panic) => (Err(failed(me, panic_text(&*panic))), Some(Left::Panic(panic))),
    };
    if let Err(error) = &result {
        job.give_up(error);
    }
    // The others know by now, whatever a drop of the user's does. A panic must not leave this frame: the stream is still
    // to be waited for.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(left))) {
        std::mem::forget(second); // its drop may panic as well, and so on for ever
    }
    // Whatever it reports: a wait on a stream of the CPU device has waited.
    let _ = job.context().stream().synchronize(Operation::Wait);
    JOB.with(|job| *job.borrow_mut() = None);
    (result, job.into_engine())
}

fn launch_local<S, R, F>(tag: S, device: &Device, pes: usize, f: F) -> Result<Vec<R>, Error>
where
    S: StreamTag,
    R: Send,
    F: Fn(&ShmemContext<S>) -> Result<R, Error> + Sync,
{
    if pes > MOST_PES {
        return Err(refused("the engine `local` has at most 4096 PEs: each of them is two threads"));
    }
    let limit = wait_limit()?;
    let no_memory = || Error::OutOfMemory { place: Memory::Symmetric, asked: mail_bytes(pes) + BOARD_BYTES, held: 0 };
    let job = Job::new(pes, device.is_chaotic());
    // What the PEs agree by is there before the first of them starts.
    let shared = |bytes: usize| -> Result<Vec<Box<Alloc>>, Error> {
        let blocks: Option<Vec<_>> = (0..pes).map(|_| Block::from_system(Place::Device, bytes)).collect();
        let blocks = blocks.ok_or_else(no_memory)?;
        let bases: Box<[NonNull<u8>]> = blocks.iter().map(|block| block.base()).collect();
        let alloc = |block: Box<Block>| {
            Box::new(Alloc { slot: 0, base: block.base(), bytes, bases: bases.clone(), block: Some(block) })
        };
        Ok(blocks.into_iter().map(alloc).collect())
    };
    let (mails, boards) = (shared(mail_bytes(pes))?, shared(BOARD_BYTES)?);
    let (mut seats, mut wires) = (Vec::new(), Vec::new());
    for (pe, (mail, board)) in mails.into_iter().zip(boards).enumerate() {
        let device = device.of_pe(pe, pes).ok_or_else(|| refused("PEs of the engine `local` are on the CPU device"))?;
        let ctx = DeviceContext::tagged(tag, device)?;
        let transport: Arc<dyn Transport> = Arc::new(Local::new(&job, pe));
        // In this frame, whatever becomes of the threads: the others write to the memory that a wire holds.
        wires.push(Mutex::new(Some(Box::new(Wire::new(Arc::clone(&transport), mail, board)))));
        seats.push((ctx, transport));
    }

    let (f, job) = (&f, &job);
    let ended: Vec<Result<R, Error>> = std::thread::scope(|threads| {
        let mut handles = Vec::new();
        for (pe, ((ctx, transport), kept)) in seats.into_iter().zip(&wires).enumerate() {
            let run = move || {
                let _leave = Leave { job, pe };
                let wire = lock(kept).take().expect("one thread takes it, once");
                let (result, engine) = run_pe(ctx, JobEngine::Cpu(wire), Announce::Cpu(transport), f);
                *lock(kept) = engine.into_wire();
                result
            };
            let started =
                std::thread::Builder::new().name(format!("PE {pe}")).stack_size(8 << 20).spawn_scoped(threads, run);
            if let Err(error) = &started {
                // The others wait for it: they are told, and it counts as ended.
                Local::new(job, pe).fail(&failed(pe, format!("the system gave no thread for it: {error}")));
                job.leave(pe);
            }
            handles.push((pe, started));
        }
        job.watch(limit);
        let end = |(pe, started): (usize, std::io::Result<ScopedJoinHandle<'_, Result<R, Error>>>)| match started {
            Ok(handle) => handle.join().unwrap_or_else(|panic| Err(failed(pe, panic_text(&*panic)))),
            Err(error) => Err(Error::Thread(Arc::new(error))),
        };
        handles.into_iter().map(end).collect()
    });

    // All streams have passed everything, so nothing uses the symmetric memory of any PE any more.
    drop(wires);
    let mut results = Vec::new();
    let mut first = None;
    for (pe, result) in ended.into_iter().enumerate() {
        match result {
            Ok(value) => results.push(value),
            // A PE's own error says more than that another one failed.
            Err(error) => {
                let of_others = matches!(&error, Error::PeFailed(failure) if failure.pe != pe);
                if first.as_ref().is_none_or(|(_, first_of_others)| *first_of_others && !of_others) {
                    first = Some((error, of_others));
                }
            }
        }
    }
    first.map_or(Ok(results), |(error, _)| Err(error))
}

/// Says at the end of a PE's thread, however it ends, that it has ended.
struct Leave<'a> {
    job: &'a Job,
    pe: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.job.leave(self.pe);
    }
}
