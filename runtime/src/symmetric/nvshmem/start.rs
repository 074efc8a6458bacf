//! Starting a job on GPUs: one process for each PE, by a launcher or by this one.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_char, c_int};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Child, Command};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::raw::{self, Api, InitArgs, InitAttr, UniqueId, UniqueIdArgs};
use super::{Gpu, SCRATCH, TOLD};
use crate::context::DeviceContext;
use crate::cpu::sync::lock;
use crate::cuda::{CudaDevice, Entered};
use crate::device::Device;
use crate::error::{Error, PeFailure};
use crate::symmetric::context::ShmemContext;
use crate::symmetric::engine::Engine;
use crate::symmetric::heap::Heap;
use crate::symmetric::launch::{Announce, refused, run_pe};
use crate::tag::StreamTag;

/// What a process that was started for a PE is told: its number, how many there are, and how it finds the others.
const RANK: &str = "ESCROW_SHMEM_RANK";
const PES: &str = "ESCROW_SHMEM_PES";
const PARENT: &str = "ESCROW_SHMEM_PARENT";
const UNIQUE_ID: &str = "ESCROW_SHMEM_ID";
/// Where NVSHMEM's host library is.
const LIBRARY: &str = "ESCROW_NVSHMEM";

unsafe extern "C" {
    /// Ends the process at once: no handler of NVSHMEM's waits for the others.
    safe fn _exit(status: c_int) -> !;
    safe fn atexit(f: extern "C" fn()) -> c_int;
    /// Of Linux; `PR_SET_PDEATHSIG` is 1, `SIGKILL` is 9.
    fn prctl(option: c_int, ...) -> c_int;
}

/// The processes of the other PEs, in the process that started them.
static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Ends the job: says why, and ends this process and with it the others.
pub(in crate::symmetric) fn fail(me: usize, error: &Error) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::AcqRel) {
        // Not `eprintln!`, which panics where nobody reads: the others are still to be ended.
        let _ = std::io::stderr().write_all(format!("escrow: PE {me}: {error}\n").as_bytes());
    }
    for child in &mut *lock(&CHILDREN) {
        let _ = child.kill();
    }
    _exit(1)
}

/// Ends the processes that this one started and whose job does not begin: they wait for this one.
fn call_off() {
    for mut child in std::mem::take(&mut *lock(&CHILDREN)) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

static API: OnceLock<Api> = OnceLock::new();
/// Whether this process is a PE now.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// The library, while this process is a PE of a job on GPUs.
pub(crate) fn job_on_gpu() -> Option<&'static Api> {
    if RUNNING.load(Ordering::Acquire) { API.get() } else { None }
}

/// NVSHMEM's host library, loaded once and for good.
fn api() -> Result<&'static Api, Error> {
    if let Some(api) = API.get() {
        return Ok(api);
    }
    let path = std::env::var_os(LIBRARY).unwrap_or_else(|| "libnvshmem_host.so.3".into());
    let failed = |error: libloading::Error| {
        let path = path.to_string_lossy();
        refused(&format!(
            "NVSHMEM's host library could not be loaded ({error}); `{LIBRARY}` names it, now it is `{path}`"
        ))
    };
    // SAFETY: loading NVSHMEM's host library runs its initialisers, which only set it up.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }.map_err(failed)?;
    // SAFETY: it is named as NVSHMEM 3 is, or by the user as that.
    let api = unsafe { Api::of(library.into()) }.map_err(failed)?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the addresses are valid for the call.
    unsafe { (api.vendor_version)(&raw mut major, &raw mut minor, &raw mut patch) };
    if major != 3 || minor < 4 {
        return Err(refused(&format!(
            "NVSHMEM {major}.{minor}.{patch} is not supported: 3.4.5 or a later 3 is needed"
        )));
    }
    Ok(API.get_or_init(|| api))
}

/// This process's place in the job.
enum Place {
    /// By number, with the id that all share.
    Ours(usize, Box<UniqueId>),
    /// The library asks the launcher.
    Launcher,
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// Processes of the launcher's job, and this one's number on its host; `None` if there is no launcher.
fn launcher() -> Option<(usize, usize)> {
    let pes = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"].into_iter().find_map(number)?;
    let local = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"].into_iter().find_map(number);
    Some((pes, local.unwrap_or(0)))
}

/// Whether this process is a PE of a job on GPUs that somebody else started.
pub(in crate::symmetric) fn is_started() -> bool {
    std::env::var_os(RANK).is_some()
}

pub(in crate::symmetric) fn launch<S, R, F>(tag: S, pes: usize, f: F) -> Result<Vec<R>, Error>
where
    S: StreamTag,
    F: Fn(&ShmemContext<S>) -> Result<R, Error>,
{
    let gpus = CudaDevice::count()?;
    if gpus == 0 {
        return Err(refused("the engine `nvshmem` needs a GPU, and the driver knows none"));
    }
    let api = api()?;
    let wrong = |there: usize| refused(&format!("the program asks for {pes} PEs, and it was started as {there}"));
    let (place, on_host) = if is_started() {
        let (Some(rank), Some(there), Some(id)) = (number(RANK), number(PES), unique_id_of_environment()) else {
            return Err(refused(
                "`ESCROW_SHMEM_RANK`, `ESCROW_SHMEM_PES` and `ESCROW_SHMEM_ID` do not say which PE this is",
            ));
        };
        if there != pes || rank >= pes {
            return Err(wrong(there));
        }
        is_first()?;
        // SAFETY: the call takes numbers. The process that started this one is what ends the job.
        unsafe { prctl(1, 9) };
        // Asked behind that, so that a parent which ends meanwhile is noticed by the one or the other.
        if number(PARENT) != Some(std::os::unix::process::parent_id() as usize) {
            return Err(refused(
                "`ESCROW_SHMEM_RANK` is of another process: PE 0 has ended, or a PE started this program, which then needs an environment without it",
            ));
        }
        (Place::Ours(rank, id), rank)
    } else if let Some((there, on_host)) = launcher() {
        if there != pes {
            return Err(wrong(there));
        }
        is_first()?;
        (Place::Launcher, on_host)
    } else {
        is_first()?;
        let id = start_others(api, pes)?;
        (Place::Ours(0, id), 0)
    };

    let (entered, ctx) = on_gpu(tag, on_host % gpus).inspect_err(|_| call_off())?;
    let me = match &place {
        Place::Ours(rank, _) => *rank,
        Place::Launcher => 0,
    };
    // From here on the others wait for this PE: an error ends the job.
    let started = start(api, &place, pes);
    let engine = match started {
        Ok(engine) => engine,
        Err(error) => fail_with(me, &error),
    };
    let me = engine.me();
    RUNNING.store(true, Ordering::Release);
    // Handlers run in reverse order: this one before NVSHMEM's, which would wait for the others for ever.
    atexit(at_exit);
    watch_others();
    let (result, engine) = run_pe(ctx, Engine::Gpu(Box::new(engine)), Announce::Gpu(me), f);
    // An error has ended the process (`run_pe`). What is left is what all PEs do at the end.
    drop(engine);
    RUNNING.store(false, Ordering::Release);
    // SAFETY: all PEs are at the end of the job (`ShmemContext::end`), and this one's stream has passed everything.
    unsafe { (api.finalize)() };
    drop(entered);
    for mut child in std::mem::take(&mut *lock(&CHILDREN)) {
        let _ = child.wait();
    }
    result.map(|value| vec![value])
}

/// A context on the GPU with this number, whose own context is the thread's then.
fn on_gpu<S: StreamTag>(tag: S, ordinal: usize) -> Result<(Entered, DeviceContext<S>), Error> {
    let device = Device::cuda(ordinal)?;
    let crate::device::Kind::Cuda(gpu) = *device.kind() else { unreachable!("it was made as one") };
    Ok((gpu.enter()?, DeviceContext::tagged(tag, device)?))
}

/// A process is in one job on GPUs in its life: those that it started go on behind it, and would not come to another one.
fn is_first() -> Result<(), Error> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) {
        return Err(refused("a process is in one job of the engine `nvshmem` in its life"));
    }
    Ok(())
}

/// The process ends in the middle of its job: so do the others.
extern "C" fn at_exit() {
    if RUNNING.load(Ordering::Acquire) {
        let me = API.get().map_or(0, |api| {
            // SAFETY: the library is started.
            unsafe { (api.my_pe)() as usize }
        });
        fail(
            me,
            &Error::PeFailed(
                PeFailure { pe: me, message: "its process exits in the middle of the job".to_owned() }.into(),
            ),
        );
    }
}

fn fail_with(me: usize, error: &Error) -> ! {
    fail(me, error);
    unreachable!("the process has ended")
}

fn unique_id_of_environment() -> Option<Box<UniqueId>> {
    let text = std::env::var(UNIQUE_ID).ok()?;
    let mut bytes = [0u8; 128];
    if text.len() != 256 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    // SAFETY: the struct is plain bytes, as many.
    Some(Box::new(unsafe { std::mem::transmute::<[u8; 128], UniqueId>(bytes) }))
}

/// Starts this program again for each of the other PEs; this process is PE 0.
fn start_others(api: &Api, pes: usize) -> Result<Box<UniqueId>, Error> {
    let mut id = Box::new(UniqueId { version: raw::VERSION_UNIQUEID, internal: [0 as c_char; 124] });
    // SAFETY: the address is valid for the call.
    if unsafe { (api.get_uniqueid)(&raw mut *id) } != 0 {
        return Err(refused(
            "NVSHMEM gave no unique id: is there a network interface? `NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo` names one",
        ));
    }
    // SAFETY: the struct is plain bytes, as many.
    let bytes = unsafe { std::mem::transmute::<UniqueId, [u8; 128]>(*id) };
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}"); // a string takes everything
    }
    let program = std::env::current_exe().map_err(|error| Error::Thread(Arc::new(error)))?;
    for rank in 1..pes {
        let child = Command::new(&program)
            .args(std::env::args_os().skip(1))
            .env(RANK, rank.to_string())
            .env(PES, pes.to_string())
            .env(PARENT, std::process::id().to_string())
            .env(UNIQUE_ID, &text)
            .spawn()
            .inspect_err(|_| call_off())
            .map_err(|error| Error::Thread(Arc::new(error)))?;
        lock(&CHILDREN).push(child);
    }
    Ok(id)
}

/// Ends the job when the process of another PE fails.
fn watch_others() {
    if lock(&CHILDREN).is_empty() {
        return;
    }
    let watch = || loop {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut failed = None;
        {
            let mut children = lock(&CHILDREN);
            if children.is_empty() {
                return; // they are waited for, or the job has ended
            }
            for (at, child) in children.iter_mut().enumerate() {
                if let Ok(Some(status)) = child.try_wait()
                    && !status.success()
                {
                    failed = Some((at + 1, status));
                }
            }
        }
        if let Some((pe, status)) = failed {
            let message = format!("its process ended with {status}");
            fail(0, &Error::PeFailed(PeFailure { pe, message }.into()));
        }
    };
    // Without the thread a failure shows where this process waits for that PE.
    let _ = std::thread::Builder::new().name("escrow PEs".to_owned()).spawn(watch);
}

/// Starts the library as this PE, and what PEs agree by.
fn start(api: &'static Api, place: &Place, pes: usize) -> Result<Gpu, Error> {
    let uid = UniqueIdArgs { version: raw::VERSION_UNIQUEID_ARGS, id: std::ptr::null(), rank: 0, ranks: 0 };
    let args = InitArgs { version: raw::VERSION_INIT_ARGS, uid, content: [0; 96] };
    let mut attr = InitAttr { version: raw::VERSION_INIT_ATTR, mpi_comm: std::ptr::null_mut(), args };
    let mut flags = 0;
    if let Place::Ours(rank, id) = place {
        flags = raw::INIT_WITH_UNIQUEID;
        // SAFETY: both are valid for the call, and the id for the one below, which reads it.
        let code = unsafe { (api.set_uniqueid_args)(*rank as c_int, pes as c_int, &raw const **id, &raw mut attr) };
        if code != 0 {
            return Err(refused("NVSHMEM did not take the unique id"));
        }
    }
    // SAFETY: the struct is that of version 1, and this GPU's context is the thread's own.
    let code = unsafe { (api.init_attr)(flags, &raw mut attr) };
    // SAFETY: no preconditions.
    let status = unsafe { (api.init_status)() };
    if code != 0 || status < raw::IS_INITIALIZED {
        return Err(refused(&format!(
            "NVSHMEM did not start (code {code}, status {status}); `NVSHMEM_DEBUG=INFO` says more. Under `mpirun` set `NVSHMEM_BOOTSTRAP=MPI`. On one host `NVSHMEM_REMOTE_TRANSPORT=none`, and with several PEs on a GPU `NVSHMEM_DISABLE_NVLS=1`, may help"
        )));
    }
    // SAFETY: the library is started.
    let (me, n_pes) = unsafe { ((api.my_pe)() as usize, (api.n_pes)() as usize) };
    if n_pes != pes {
        return Err(refused(&format!("the program asks for {pes} PEs, and NVSHMEM has {n_pes}")));
    }
    let symmetric = |bytes: usize| {
        // SAFETY: all PEs ask for the same at their start.
        let base = NonNull::new(unsafe { (api.malloc)(bytes) }.cast::<u8>());
        base.ok_or_else(|| refused("NVSHMEM's heap has no room for the job's own memory"))
    };
    let board = symmetric(2 * n_pes * TOLD * 8)?;
    let (told, scratch) = (symmetric(TOLD * 8)?, symmetric(SCRATCH)?);
    let near = (0..n_pes).map(|pe| {
        // SAFETY: the library is started, and the PE is of the job.
        !unsafe { (api.ptr)(board.as_ptr().cast(), pe as c_int) }.is_null()
    });
    let on_host = (0..n_pes).map(|pe| {
        // SAFETY: the library is started, its own teams are there, and the PE is of the job. A PE of no such team is -1.
        unsafe { (api.translate)(raw::TEAM_WORLD, pe as c_int, raw::TEAM_NODE) >= 0 }
    });
    let checked = std::env::var("ESCROW_SHMEM_CHECKED").map_or(cfg!(debug_assertions), |value| value != "0");
    Ok(Gpu {
        api,
        me,
        n_pes,
        limited: status == raw::LIMITED_MPG,
        near: near.collect(),
        on_host: on_host.collect(),
        board,
        told,
        scratch,
        turn: Cell::new(0),
        heap: RefCell::new(Heap::new()),
        teams: RefCell::new(HashMap::new()),
        checked,
    })
}
