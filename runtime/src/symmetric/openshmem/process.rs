//! The engine in this process: its start, its end, and what happens if the process ends before.

use std::ffi::c_int;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use super::raw::{self, Raw};
use super::{GRACE, load};
use crate::error::{Error, Setting};
use crate::symmetric::launch::refused;

/// How long Open MPI gets to end the job's processes.
const TIME_TO_END: Duration = Duration::from_secs(3);

const NEVER: u8 = 0;
const RUNNING: u8 = 1;
const OVER: u8 = 2;
/// Open MPI initializes once in a process.
static STATE: AtomicU8 = AtomicU8::new(NEVER);
static ENGINE: OnceLock<Raw> = OnceLock::new();

/// A number that `oshrun` gives its processes.
fn number(name: &'static str) -> Result<Option<usize>, Error> {
    let Ok(value) = std::env::var(name) else { return Ok(None) };
    let expected = "`oshrun` sets it to a number";
    value.parse().map(Some).map_err(|_| Error::Setting(Box::new(Setting { name, value: value.into(), expected })))
}

/// How many processes `oshrun` started, if it started this one.
pub(in crate::symmetric) fn world_size() -> Result<Option<usize>, Error> {
    number("OMPI_COMM_WORLD_SIZE")
}

/// This process's number among those on this host, and how many these are.
pub(super) fn place_on_host() -> Result<(usize, usize), Error> {
    let place = number("OMPI_COMM_WORLD_LOCAL_RANK")?.unwrap_or(0);
    Ok((place, number("OMPI_COMM_WORLD_LOCAL_SIZE")?.unwrap_or(1).max(1)))
}

/// Whether a job can still start here.
pub(super) fn is_new() -> Result<(), Error> {
    if STATE.load(Ordering::Acquire) == NEVER {
        return Ok(());
    }
    Err(refused("Open MPI has one job in a process, and this one has had its job"))
}

/// Starts the engine: this process's number, and how many there are. All processes call it.
pub(super) fn start() -> Result<(&'static Raw, usize, usize), Error> {
    let raw = if let Some(raw) = ENGINE.get() {
        raw
    } else {
        let loaded = load::load()?;
        ENGINE.get_or_init(|| loaded)
    };
    STATE
        .compare_exchange(NEVER, RUNNING, Ordering::AcqRel, Ordering::Acquire)
        .map_err(|_| refused("Open MPI has one job in a process, and this one has had its job"))?;
    let mut provided: c_int = 0;
    // One thread at a time is all that is needed; threads that call at once would cost 10 ns of locks for each call.
    // SAFETY: this process has not initialized the engine before (`STATE`). It may be called by one thread at a time: this
    // one and the worker of the job's stream.
    let status = unsafe { (raw.init_thread)(raw::THREAD_SERIALIZED, &raw mut provided) };
    if status != 0 {
        STATE.store(OVER, Ordering::Release);
        return Err(Error::Job(
            format!("Open MPI did not initialize its OpenSHMEM: `shmem_init_thread` gave {status}").into(),
        ));
    }
    load::keep_hook();
    // Handlers run in reverse order: this one before Open MPI's, which would wait for the others for ever.
    raw::atexit(at_exit);
    // SAFETY: the engine runs.
    let (me, pes) = unsafe { ((raw.my_pe)() as usize, (raw.n_pes)() as usize) };
    if provided < raw::THREAD_SERIALIZED {
        fail(raw, me, &refused("Open MPI was built without threads"));
    }
    Ok((raw, me, pes))
}

/// Ends the engine, on all PEs at once and on the thread that started it.
pub(super) fn end(raw: &Raw) {
    STATE.store(OVER, Ordering::Release);
    // SAFETY: the engine runs, on this thread alone, and all PEs have agreed that the job is over.
    unsafe { (raw.finalize)() };
}

/// Says why, and ends the processes of all PEs. Returns only if another thread is about to do that, or the job is over.
pub(super) fn fail(raw: &Raw, me: usize, error: &Error) {
    if STATE.compare_exchange(RUNNING, OVER, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    match error {
        Error::PeFailed(failure) if failure.pe == me => say(&format!("escrow: PE {me}: {}", failure.message)),
        Error::PeFailed(_) => {
            say(&format!("escrow: PE {me}: {error}"));
            // That PE knows more than this one: it says it, and ends this process too.
            thread::sleep(GRACE);
        }
        _ => say(&format!("escrow: PE {me}: {error}")),
    }
    exit_all(raw);
}

/// A line on standard error in one piece: `oshrun` mixes what its processes write.
pub(super) fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn exit_all(raw: &Raw) -> ! {
    // In case Open MPI does not come back. Without a thread it has to.
    let _ = thread::Builder::new().spawn(|| {
        thread::sleep(TIME_TO_END);
        raw::_exit(1)
    });
    // SAFETY: the engine runs. The worker may be in it too: its process ends here.
    unsafe { (raw.global_exit)(1) };
    raw::_exit(1)
}

/// The process ends in the middle of the job: the others would wait for it for ever.
extern "C" fn at_exit() {
    if STATE.compare_exchange(RUNNING, OVER, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    if let Some(raw) = ENGINE.get() {
        // SAFETY: the engine runs.
        let me = unsafe { (raw.my_pe)() };
        say(&format!("escrow: PE {me}: the process ended before its job"));
        exit_all(raw);
    }
}
