//! Streams: what all handles of one queue of operations share, on whatever kind of device.

use std::sync::Arc;

use crate::block::{BlockRef, Place};
use crate::cpu::{self, is_worker};
#[cfg(feature = "cuda")]
use crate::cuda;
use crate::device::{Device, Kind};
use crate::error::{Error, Operation};
use crate::landing::Landings;
use crate::op::{Call, CpuLaunch, Op, Packed};
use crate::region::Admitted;

/// One stream of execution. Its address is its identity.
///
/// The last handle ends it, and nothing waits there: a CPU worker drains, frees what is parked and ends by itself; a CUDA
/// stream goes to its device with what is parked, for reuse.
pub(crate) struct Stream {
    device: Device,
    engine: Engine,
}

enum Engine {
    Cpu(Arc<cpu::Core>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Core>),
}

impl Stream {
    pub(crate) fn new(device: Device) -> Result<Arc<Stream>, Error> {
        not_on_worker(Operation::Create)?;
        let engine = match device.kind() {
            Kind::Cpu(cpu) => Engine::Cpu(cpu::Core::spawn(cpu.threads()?, cpu.scheduler()?)?),
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => Engine::Cuda(cuda::Core::open(cuda)?),
        };
        Ok(Arc::new(Stream { device, engine }))
    }

    /// A stream around an engine of `device`.
    #[cfg(feature = "cuda")]
    pub(crate) fn of_cuda(device: Device, core: Arc<cuda::Core>) -> Arc<Stream> {
        Arc::new(Stream { device, engine: Engine::Cuda(core) })
    }

    #[inline]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Memory for this stream's use, ordered behind all earlier uses of it.
    pub(crate) fn allocate(&self, place: Place, bytes: usize) -> Result<BlockRef, Error> {
        let block = match (&self.engine, self.device.kind()) {
            (Engine::Cpu(_), Kind::Cpu(cpu)) => cpu.take(place, bytes)?,
            #[cfg(feature = "cuda")]
            (Engine::Cuda(core), _) => core.take(place, bytes)?,
            #[cfg(feature = "cuda")]
            _ => unreachable!("a stream's engine is of its device's kind"),
        };
        Ok(BlockRef::new(block, bytes, self.device.clone()))
    }

    /// Enqueues a copy of `bytes` bytes.
    ///
    /// # Safety
    /// Both operands were admitted to this stream and have `bytes` bytes, do not overlap, and stay valid and are used by
    /// nobody else as the copy demands until the stream has passed it, and a lent destination until `landings` have ended.
    #[inline(always)] // so that what a caller knows of its operands is known here: one driver call is left
    pub(crate) unsafe fn copy(
        &self,
        dst: Admitted,
        src: Admitted,
        bytes: usize,
        landings: Option<&Landings>,
    ) -> Result<(), Error> {
        #[cfg(not(feature = "cuda"))]
        let _ = landings;
        match &self.engine {
            Engine::Cpu(core) => copy_on_cpu(core, dst.ptr, src.ptr, bytes),
            // SAFETY: passed on to the caller.
            #[cfg(feature = "cuda")]
            Engine::Cuda(core) => unsafe { core.copy(dst, src, bytes, landings) },
        }
    }

    /// Enqueues a copy from memory of another stream, `from`, between an edge from there and one back.
    ///
    /// # Safety
    /// As for [`Stream::copy`], but that `src` was admitted to `from`. The memory lies in `blocks`.
    pub(crate) unsafe fn copy_peer(
        &self,
        from: &Stream,
        dst: Admitted,
        src: Admitted,
        bytes: usize,
        blocks: [&BlockRef; 2],
    ) -> Result<(), Error> {
        const OP: Operation = Operation::Copy;
        #[cfg(not(feature = "cuda"))]
        let _ = blocks;
        match (&self.engine, &from.engine) {
            (Engine::Cpu(core), Engine::Cpu(_)) => {
                let before = from.event()?;
                // Nothing of a device under chaos runs but at calls of its own, so nobody else could wait for it.
                if from.is_driven_apart_from(self) {
                    let _ = before.wait(OP); // a failure spreads by the edge
                }
                self.wait_for(OP, before)?;
                core.enqueue(OP, Op::Copy { dst: dst.ptr, src: src.ptr, bytes })?;
                let after = self.event()?;
                if self.is_driven_apart_from(from) {
                    let _ = after.wait(OP);
                }
                from.come_after(OP, &after)
            }
            // SAFETY: passed on to the caller.
            #[cfg(feature = "cuda")]
            (Engine::Cuda(core), Engine::Cuda(from)) => unsafe { core.copy_peer(from, dst, src, bytes, blocks) },
            #[cfg(feature = "cuda")]
            _ => Err(Error::WrongDevice { op: OP }),
        }
    }

    /// Whether this stream's device runs at calls only, and not at those of `other`'s device.
    fn is_driven_apart_from(&self, other: &Stream) -> bool {
        self.device.is_chaotic() && self.device != other.device
    }

    /// Enqueues a fill of `dst` with `value`.
    ///
    /// # Safety
    /// As for [`Stream::copy`]; `dst` has elements of type `E`.
    #[inline(always)]
    pub(crate) unsafe fn fill<E: Copy>(&self, dst: Admitted, value: E) -> Result<(), Error> {
        match &self.engine {
            Engine::Cpu(core) => fill_on_cpu(core, dst.ptr, dst.len, value),
            // SAFETY: passed on to the caller.
            #[cfg(feature = "cuda")]
            Engine::Cuda(core) => unsafe { core.fill(dst, value) },
        }
    }

    /// Enqueues a kernel with a Rust body. `None` if this stream's device runs none.
    ///
    /// # Safety
    /// The arguments are those of the body, and their memory is the kernel's to use when the stream comes to it.
    #[inline(always)]
    pub(crate) unsafe fn launch(&self, launch: CpuLaunch) -> Result<(), Error> {
        match &self.engine {
            Engine::Cpu(core) => core.enqueue(Operation::Launch, Op::Launch(launch)),
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => unreachable!("a kernel set of the CPU device was refused before"),
        }
    }

    /// Enqueues a call of a function of this crate, on a stream of the CPU device.
    ///
    /// # Safety
    /// The arguments are those of the function, and what they point to stays valid until the stream has passed it.
    #[inline(always)]
    pub(crate) unsafe fn call(&self, what: Operation, call: Call) -> Result<(), Error> {
        match &self.engine {
            Engine::Cpu(core) => core.enqueue(what, Op::Call(call)),
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => Err(Error::WrongDevice { op: what }),
        }
    }

    /// Runs `f` as the next operation on this thread, if this is a stream of the CPU device that stands still.
    #[inline]
    pub(crate) fn run_here<R>(&self, f: impl FnOnce() -> Result<R, Error>) -> Option<Result<R, Error>> {
        match &self.engine {
            Engine::Cpu(core) => core.run_here(f),
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => None,
        }
    }

    /// The engine, for launches of device code.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) fn cuda(&self) -> Option<&cuda::Core> {
        match &self.engine {
            Engine::Cpu(_) => None,
            Engine::Cuda(core) => Some(core),
        }
    }

    /// The point behind everything enqueued so far.
    #[cfg_attr(not(feature = "cuda"), allow(clippy::unnecessary_wraps))] // a number's reading cannot fail
    pub(crate) fn event(&self) -> Result<Event, Error> {
        Ok(match &self.engine {
            Engine::Cpu(core) => Event::Cpu(cpu::Event::of(core)),
            #[cfg(feature = "cuda")]
            Engine::Cuda(core) => Event::Cuda(cuda::Event::record(core)?),
        })
    }

    /// Nothing enqueued from now on starts before `event`, of the same device, has fired. If it fires as failed, this
    /// stream fails too.
    pub(crate) fn wait_for(&self, what: Operation, event: Event) -> Result<(), Error> {
        match (&self.engine, event) {
            // A stream is behind itself already.
            (Engine::Cpu(core), Event::Cpu(event)) if event.is_on(core) => Ok(()),
            (Engine::Cpu(core), Event::Cpu(event)) => core.enqueue(what, Op::Wait(event)),
            #[cfg(feature = "cuda")]
            (Engine::Cuda(core), Event::Cuda(event)) => core.wait_for(what, &event),
            #[cfg(feature = "cuda")]
            _ => Err(Error::WrongDevice { op: what }),
        }
    }

    /// As [`Stream::wait_for`], and a failure of the other stream does not spread.
    pub(crate) fn come_after(&self, what: Operation, event: &Event) -> Result<(), Error> {
        match (&self.engine, event) {
            (Engine::Cpu(core), Event::Cpu(event)) if event.is_on(core) => Ok(()),
            (Engine::Cpu(core), Event::Cpu(event)) => core.enqueue(what, Op::After(event.clone())),
            #[cfg(feature = "cuda")]
            (Engine::Cuda(core), Event::Cuda(event)) => core.wait_for(what, event),
            #[cfg(feature = "cuda")]
            _ => Err(Error::WrongDevice { op: what }),
        }
    }

    /// Blocks the calling thread until everything enqueued so far has been passed.
    pub(crate) fn synchronize(&self, what: Operation) -> Result<(), Error> {
        match &self.engine {
            Engine::Cpu(core) => core.wait(what, core.tail()),
            #[cfg(feature = "cuda")]
            Engine::Cuda(core) => not_on_worker(what).and_then(|()| core.synchronize(what)),
        }
    }

    /// Keeps `block` until everything enqueued so far has been passed. Never waits.
    pub(crate) fn park(&self, block: BlockRef) {
        match &self.engine {
            Engine::Cpu(core) => core.park(block),
            #[cfg(feature = "cuda")]
            Engine::Cuda(core) => core.park(block),
        }
    }
}

// Out of line, once for all callers, and so that the operation is made in its slot and not copied there.

#[inline(never)]
fn copy_on_cpu(core: &cpu::Core, dst: *mut u8, src: *const u8, bytes: usize) -> Result<(), Error> {
    core.enqueue(Operation::Copy, Op::Copy { dst, src, bytes })
}

#[inline(never)]
fn fill_on_cpu<E: Copy>(core: &cpu::Core, dst: *mut u8, count: usize, value: E) -> Result<(), Error> {
    let (pattern, size) = (Packed::new(value), size_of::<E>());
    core.enqueue(Operation::Fill, Op::Fill { dst, pattern, size, count })
}

impl Drop for Stream {
    fn drop(&mut self) {
        match &self.engine {
            Engine::Cpu(core) => core.close(),
            #[cfg(feature = "cuda")]
            Engine::Cuda(core) => core.close(),
        }
    }
}

/// A point in a stream.
pub(crate) enum Event {
    Cpu(cpu::Event),
    #[cfg(feature = "cuda")]
    Cuda(cuda::Event),
}

impl Event {
    /// Blocks until the stream has passed the point; an error if it had failed by then.
    pub(crate) fn wait(&self, what: Operation) -> Result<(), Error> {
        match self {
            Event::Cpu(event) => event.wait(what),
            #[cfg(feature = "cuda")]
            Event::Cuda(event) => event.wait(what),
        }
    }

    /// Whether the stream has passed the point; an error if it had failed by then.
    pub(crate) fn is_finished(&self) -> Result<bool, Error> {
        match self {
            Event::Cpu(event) => event.is_finished(),
            #[cfg(feature = "cuda")]
            Event::Cuda(event) => event.is_finished(),
        }
    }

    /// Whether `later` is a point of the same stream, and so behind this one if it was taken after it.
    pub(crate) fn is_before(&self, later: &Event) -> bool {
        match (self, later) {
            (Event::Cpu(event), Event::Cpu(later)) => event.shares_stream_with(later),
            #[cfg(feature = "cuda")]
            (Event::Cuda(event), Event::Cuda(later)) => event.shares_stream_with(later),
            #[cfg(feature = "cuda")]
            _ => false,
        }
    }

    /// Whether the point is known to be passed, at no cost: a device that would have to be asked says no.
    pub(crate) fn has_passed(&self) -> bool {
        match self {
            Event::Cpu(event) => event.has_passed(),
            #[cfg(feature = "cuda")]
            Event::Cuda(_) => false,
        }
    }
}

/// Refuses a call from a thread that runs a device's work: waiting there for that work would never end.
#[inline]
pub(crate) fn not_on_worker(op: Operation) -> Result<(), Error> {
    if is_worker() { Err(Error::FromWorker { op }) } else { Ok(()) }
}
