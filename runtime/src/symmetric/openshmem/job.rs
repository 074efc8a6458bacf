//! One process's part of a job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use super::{OpenShmem, SPINS, process};
use crate::context::DeviceContext;
use crate::device::Device;
use crate::error::{Error, Memory, Operation};
use crate::symmetric::context::ShmemContext;
use crate::symmetric::engine::Engine;
use crate::symmetric::launch::{Announce, JOB, failed, panic_text, refused, wait_limit};
use crate::symmetric::transport::{Alloc, Transport};
use crate::symmetric::wire::{BOARD_BYTES, Wire, mail_bytes};
use crate::tag::StreamTag;

/// As [`shmem::launch_on`](crate::shmem::launch_on): the PE of this process.
pub(in crate::symmetric) fn launch<S, R, F>(tag: S, device: &Device, pes: usize, f: F) -> Result<Vec<R>, Error>
where
    S: StreamTag,
    F: Fn(&ShmemContext<S>) -> Result<R, Error>,
{
    // Whatever can fail on one PE alone comes before the engine: the others would wait in it.
    let limit = wait_limit()?;
    process::is_new()?;
    let started = process::world_size()?;
    if started.unwrap_or(1) != pes {
        let found = match started {
            Some(started) => format!("`oshrun` started {started}"),
            None => "this process was not started by `oshrun`, so it is the only one".to_owned(),
        };
        return Err(Error::Job(format!("it was asked to have {pes} PEs, but {found}").into()));
    }
    let (place, on_host) = process::place_on_host()?;
    let device =
        device.of_pe(place, on_host).ok_or_else(|| refused("PEs of the engine `openshmem` are on the CPU device"))?;
    let spins = if std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= on_host) { SPINS } else { 0 };
    let ctx = DeviceContext::tagged(tag, device)?;

    let (raw, me, pes) = process::start()?;
    let mut engine =
        OpenShmem { raw, me, pes, near: Box::default(), quick: false, spins, limit, last: OnceLock::new() };
    let shared = |bytes: usize| {
        let (base, _) = engine.allocate(bytes)?;
        // SAFETY: it is this PE's own memory of that size, and the others do not use theirs before the barrier below.
        unsafe { base.write_bytes(0, bytes) };
        Some(Box::new(Alloc { slot: 0, base, bytes, bases: Box::default(), block: None }))
    };
    let (Some(mail), Some(board)) = (shared(mail_bytes(pes)), shared(BOARD_BYTES)) else {
        // On all PEs alike: their heaps have one size.
        process::end(raw);
        return Err(Error::OutOfMemory { place: Memory::Symmetric, asked: mail_bytes(pes) + BOARD_BYTES, held: 0 });
    };
    let here: NonNull<u8> = board.base;
    // SAFETY: the address is symmetric, the PEs exist; the engine runs, and all PEs come here.
    engine.near = (0..pes).map(|pe| !unsafe { (raw.ptr)(here.as_ptr().cast(), pe as i32) }.is_null()).collect();
    engine.quick = engine.near.iter().all(|near| *near);
    // SAFETY: as above.
    unsafe { (raw.barrier_all)() };

    let engine = Arc::new(engine);
    let transport: Arc<dyn Transport> = engine.clone();
    let wire = Box::new(Wire::new(Arc::clone(&transport), mail, board));
    let result = run(ShmemContext::new(ctx, Engine::Cpu(wire)), &engine, transport, f);
    process::end(raw);
    Ok(vec![result?])
}

/// Runs `f` as this process's PE. When this returns, all PEs are at the end of the job, with nothing left to do; if they do
/// not get there, it does not return.
fn run<S: StreamTag, R>(
    job: ShmemContext<S>,
    engine: &OpenShmem,
    transport: Arc<dyn Transport>,
    f: impl FnOnce(&ShmemContext<S>) -> Result<R, Error>,
) -> Result<R, Error> {
    JOB.with(|of_thread| *of_thread.borrow_mut() = Some(Announce::Cpu(transport)));
    let result = match catch_unwind(AssertUnwindSafe(|| f(&job))) {
        Ok(result) => result,
        Err(panic) => {
            let error = failed(engine.me, panic_text(&*panic));
            job.give_up(&error);
            Err(error)
        }
    };
    if result.is_err() {
        // An error that all PEs return, as when the heap is full, ends the job as success does. The others may also be
        // where nobody hears of this one: then it does not wait long.
        engine.hurry();
    }
    if let Err(error) = job.end(result.is_err()) {
        job.give_up(result.as_ref().err().unwrap_or(&error));
    }
    // Whatever it reports: a wait on a stream of the CPU device has waited.
    let _ = job.context().stream().synchronize(Operation::Wait);
    JOB.with(|of_thread| *of_thread.borrow_mut() = None);
    // Its allocations go with the engine's heap.
    drop(job.into_engine());
    result
}
