//! From calls of a PE's thread to operations of its stream.

use std::ptr::NonNull;

use super::card::{Card, Kind};
use super::signal::Cmp;
use super::transport::{Alloc, Target};
use super::wire::{Combine, Wire};
use super::worker::{enqueue, enqueue_short, fail, failure_of, run_on_stream};
use crate::dtype::DType;
use crate::error::{Error, Operation};
use crate::stream::Stream;

/// A call of all PEs of a team, and who they are.
#[derive(Clone, Copy)]
pub(super) struct Together {
    /// The team's number; 0 is the world.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(super) team: u32,
    /// Its members, which the job keeps.
    pub(super) members: NonNull<[u32]>,
    pub(super) card: Card,
}

/// A range of this PE's memory and one of the same place on another PE.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub(super) here: *mut u8,
    pub(super) there: Target,
    pub(super) pe: usize,
}

/// How elements lie in a strided transfer: bytes from one to the next on both sides.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) here: usize,
    pub(super) there: usize,
    pub(super) size: usize,
    pub(super) count: usize,
}

/// A change of a signal's word.
#[derive(Clone, Copy)]
pub(super) struct Notice {
    pub(super) word: Target,
    pub(super) value: u64,
    pub(super) adds: bool,
}

/// A collective on two symmetric ranges: destination, then source.
#[derive(Clone, Copy)]
pub(super) enum Collective {
    /// `bytes` of the root's source, by its number in the world, to everybody's destination.
    Broadcast {
        root: usize,
        bytes: usize,
    },
    /// A part of `bytes` from each to each; `same` if everybody gets the one part.
    Exchange {
        bytes: usize,
        same: bool,
    },
    Reduce(Reduce),
    ReduceScatter(Reduce),
}

/// A reduction of `len` elements of `size` bytes.
#[derive(Clone, Copy)]
pub(super) struct Reduce {
    pub(super) len: usize,
    pub(super) size: usize,
    pub(super) combine: Combine,
    /// The operation and the element type, as NVSHMEM names them.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(super) names: [&'static str; 2],
}

/// What carries out a job's operations, in the order of the job's stream.
///
/// All `unsafe` methods: the memory lies in allocations that this PE has not dropped, or was admitted to the stream, so it is
/// there until the stream has passed the operation; PEs are of the job, ranges and alignments fit.
pub(super) enum Engine {
    /// PEs on the CPU: the stream's worker does it.
    Cpu(Box<Wire>),
    /// NVSHMEM: the GPU's stream does it.
    #[cfg(feature = "cuda")]
    Gpu(Box<super::nvshmem::Gpu>),
}

impl Engine {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Engine::Cpu(wire) => wire.transport().name(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => "nvshmem",
        }
    }

    pub(super) fn me(&self) -> usize {
        match self {
            Engine::Cpu(wire) => wire.transport().me(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.me(),
        }
    }

    pub(super) fn n_pes(&self) -> usize {
        match self {
            Engine::Cpu(wire) => wire.transport().n_pes(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.n_pes(),
        }
    }

    pub(super) fn is_near(&self, pe: usize) -> bool {
        match self {
            Engine::Cpu(wire) => wire.transport().is_near(pe),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.is_near(pe),
        }
    }

    /// An error if the job is over.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            Engine::Cpu(wire) => wire.transport().check(),
            // A failure ends the processes of the job.
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => Ok(()),
        }
    }

    /// Says on all PEs that the job is over, because of an error of this PE.
    pub(super) fn fail(&self, error: &Error) {
        match self {
            Engine::Cpu(wire) => wire.transport().fail(&failure_of(wire, error)),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => super::nvshmem::fail(gpu.me(), error),
        }
    }

    /// Makes the stream of a job that is over fail at this point, also if this PE's calls were refused before they got there.
    pub(super) fn stop(&self, stream: &Stream, op: Operation) {
        match self {
            Engine::Cpu(wire) => fail(wire, stream, op),
            // The process has ended.
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => {}
        }
    }

    /// Whether no further allocation can live.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Engine::Cpu(wire) => wire.is_full(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.is_full(),
        }
    }

    pub(super) fn held(&self) -> usize {
        match self {
            Engine::Cpu(wire) => wire.held(),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.held(),
        }
    }

    /// A value of the job no longer uses its memory. Waits for nobody.
    pub(super) fn note_drop(&self, slot: u32) {
        match self {
            Engine::Cpu(wire) => wire.note_drop(slot),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.note_drop(slot),
        }
    }

    /// Enqueues an agreement of a team, which is a barrier of it.
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn agree(&self, stream: &Stream, op: Operation, call: Together) -> Result<(), Error> {
        match self {
            // SAFETY: the members live as long as the job.
            Engine::Cpu(wire) => unsafe {
                enqueue(wire, stream, op, move |wire| wire.agree(call.members.as_ref(), &call.card))
            },
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.agree(stream, op, call),
        }
    }

    /// As `agree`, for all PEs, and waits for it. **Blocks.**
    pub(super) fn meet(&self, stream: &Stream, op: Operation, call: Together) -> Result<(), Error> {
        match self {
            // SAFETY: the members live as long as the job.
            Engine::Cpu(wire) => {
                // SAFETY: the members live as long as the job.
                run_on_stream(wire, stream, op, |wire| wire.agree(unsafe { call.members.as_ref() }, &call.card))
            }
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.agree(stream, op, call).and_then(|()| stream.synchronize(op)),
        }
    }

    /// A new allocation on all PEs; `None` on all if one has no memory. **Blocks.**
    pub(super) fn allocate(
        &self,
        stream: &Stream,
        call: Together,
        bytes: usize,
    ) -> Result<Option<NonNull<Alloc>>, Error> {
        match self {
            Engine::Cpu(wire) => run_on_stream(wire, stream, Operation::Symmetric, |wire| {
                // SAFETY: the members live as long as the job.
                wire.create(unsafe { call.members.as_ref() }, &call.card, bytes)
            }),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.create(stream, call, bytes),
        }
    }

    /// Frees what all PEs have dropped. **Blocks.**
    pub(super) fn reclaim(&self, stream: &Stream, call: Together) -> Result<(), Error> {
        match self {
            Engine::Cpu(wire) => run_on_stream(wire, stream, Operation::Symmetric, |wire| {
                // SAFETY: the members live as long as the job.
                wire.reclaim(unsafe { call.members.as_ref() }, &call.card)
            }),
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.reclaim(stream, call),
        }
    }

    /// # Safety
    /// See [`Engine`].
    #[inline]
    pub(super) unsafe fn put(&self, stream: &Stream, what: Transfer, bytes: usize) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Put, bytes, move |wire| {
                    wire.transport().put(what.there, what.here, bytes, what.pe);
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.put(stream, what, bytes) },
        }
    }

    /// # Safety
    /// See [`Engine`].
    #[inline]
    pub(super) unsafe fn get(&self, stream: &Stream, what: Transfer, bytes: usize) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Get, bytes, move |wire| {
                    wire.transport().get(what.here, what.there, bytes, what.pe);
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.get(stream, what, bytes) },
        }
    }

    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn put_strided(&self, stream: &Stream, what: Transfer, strides: Strides) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Put, strides.count * strides.size, move |wire| {
                    for nth in 0..strides.count {
                        let (to, from) = (what.there.at(nth * strides.there), what.here.add(nth * strides.here));
                        wire.transport().put(to, from, strides.size, what.pe);
                    }
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.put_strided(stream, what, strides) },
        }
    }

    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn get_strided(&self, stream: &Stream, what: Transfer, strides: Strides) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Get, strides.count * strides.size, move |wire| {
                    for nth in 0..strides.count {
                        let (from, to) = (what.there.at(nth * strides.there), what.here.add(nth * strides.here));
                        wire.transport().get(to, from, strides.size, what.pe);
                    }
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.get_strided(stream, what, strides) },
        }
    }

    /// One element, which the call keeps.
    ///
    /// # Safety
    /// See [`Engine`].
    #[inline]
    pub(super) unsafe fn p<T: DType>(&self, stream: &Stream, value: T, there: Target, pe: usize) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty; the value lies in the closure.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Put, size_of::<T>(), move |wire| {
                    wire.transport().put(there, (&raw const value).cast(), size_of::<T>(), pe);
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.p(stream, value, there, pe) },
        }
    }

    /// One element of another PE. **Blocks.**
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn g<T: DType>(&self, stream: &Stream, there: Target, pe: usize) -> Result<T, Error> {
        match self {
            Engine::Cpu(wire) => run_on_stream(wire, stream, Operation::Get, |wire| {
                // SAFETY: every bit pattern of a `DType` is valid, all zeros too.
                let mut value = unsafe { std::mem::zeroed::<T>() };
                // SAFETY: the caller's duty, and there is room for the element.
                unsafe { wire.transport().get((&raw mut value).cast(), there, size_of::<T>(), pe) };
                Ok(value)
            }),
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.g(stream, there, pe) },
        }
    }

    /// Later puts arrive behind earlier ones; with `all`, they have arrived.
    pub(super) fn order(&self, stream: &Stream, all: bool) -> Result<(), Error> {
        match self {
            // SAFETY: it uses no memory.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Quiet, 0, move |wire| {
                    if all {
                        wire.transport().quiet();
                    } else {
                        wire.transport().fence();
                    }
                    Ok(())
                })
            },
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.quiet(stream),
        }
    }

    /// A put of `bytes` bytes, if there are any, and a notice behind it.
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn notify(
        &self,
        stream: &Stream,
        op: Operation,
        put: Option<(Transfer, usize)>,
        notice: Notice,
        pe: usize,
    ) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, op, put.map_or(8, |(_, bytes)| bytes), move |wire| {
                    let transport = wire.transport();
                    if let Some((what, bytes)) = put {
                        transport.put(what.there, what.here, bytes, pe);
                    }
                    transport.fence();
                    if notice.adds {
                        transport.add_word(notice.word, notice.value, pe);
                    } else {
                        transport.set_word(notice.word, notice.value, pe);
                    }
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.notify(stream, put, notice, pe) },
        }
    }

    /// Waits, in the order of the stream, until this PE's word compares so.
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn await_word(&self, stream: &Stream, word: Target, cmp: Cmp, value: u64) -> Result<(), Error> {
        match self {
            Engine::Cpu(wire) => {
                let card = Card::new(Kind::Wait, 0, [0; 3], 0);
                // SAFETY: the caller's duty.
                unsafe {
                    enqueue(wire, stream, Operation::Signal, move |wire| {
                        wire.transport().wait(word, None, &card, &|signal| cmp.holds(signal, value)).map(|_| ())
                    })
                }
            }
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.await_word(stream, word, cmp, value) },
        }
    }

    /// This PE's word. **Blocks.**
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn fetch_word(&self, stream: &Stream, word: Target) -> Result<u64, Error> {
        match self {
            Engine::Cpu(wire) => {
                let card = Card::new(Kind::Wait, 0, [0; 3], 0);
                run_on_stream(wire, stream, Operation::Signal, |wire| {
                    // SAFETY: the caller's duty.
                    unsafe { wire.transport().wait(word, None, &card, &|_| true) }
                })
            }
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.fetch_word(stream, word) },
        }
    }

    /// Sets this PE's word to 0, in the order of the stream, before another PE knows it.
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn clear_word(&self, stream: &Stream, word: Target) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe {
                enqueue_short(wire, stream, Operation::Signal, 8, move |wire| {
                    wire.transport().set_word(word, 0, wire.transport().me());
                    Ok(())
                })
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.clear_word(stream, word) },
        }
    }

    /// The worker's way, for atomics: NVSHMEM has none on the host.
    #[cfg_attr(not(feature = "cuda"), allow(clippy::unnecessary_wraps))]
    pub(super) fn wire(&self) -> Result<&Wire, Error> {
        match self {
            Engine::Cpu(wire) => Ok(wire),
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => Err(Error::Unsupported { op: Operation::Atomic, what: "atomic operations on the host" }),
        }
    }

    /// Where this PE reaches `pe`'s copy by loads and stores.
    ///
    /// # Safety
    /// See [`Engine`].
    pub(super) unsafe fn peer(&self, at: Target, pe: usize) -> Option<*mut u8> {
        match self {
            // SAFETY: the caller's duty.
            Engine::Cpu(wire) => unsafe { wire.transport().peer(at, pe) },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.peer(at, pe) },
        }
    }

    /// What is left of an engine on the CPU when its PE has ended.
    #[cfg_attr(not(feature = "cuda"), allow(clippy::unnecessary_wraps))]
    pub(super) fn into_wire(self) -> Option<Box<Wire>> {
        match self {
            Engine::Cpu(wire) => Some(wire),
            #[cfg(feature = "cuda")]
            Engine::Gpu(_) => None,
        }
    }

    /// What a team of the engine's own needs. On all PEs of the parent, in the order of the stream.
    #[cfg_attr(not(feature = "cuda"), allow(clippy::unnecessary_wraps))]
    pub(super) fn split(&self, stream: &Stream, split: Split) -> Result<(), Error> {
        match self {
            Engine::Cpu(_) => {
                let _ = (stream, split);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => gpu.split(stream, split),
        }
    }

    /// # Safety
    /// See [`Engine`]; nothing else uses the two ranges on any PE of the team.
    pub(super) unsafe fn collective(
        &self,
        stream: &Stream,
        call: Together,
        [dst, src]: [Target; 2],
        what: Collective,
    ) -> Result<(), Error> {
        let op = Operation::Collective;
        match self {
            // SAFETY: the caller's duty; the members live as long as the job.
            Engine::Cpu(wire) => unsafe {
                let (team, card, ranges) = (call.members, call.card, [dst, src]);
                match what {
                    Collective::Broadcast { root, bytes } => {
                        enqueue(wire, stream, op, move |wire| wire.broadcast(team.as_ref(), &card, root, ranges, bytes))
                    }
                    Collective::Exchange { bytes, same } => {
                        enqueue(wire, stream, op, move |wire| wire.exchange(team.as_ref(), &card, ranges, bytes, same))
                    }
                    Collective::Reduce(Reduce { len, size, combine, .. }) => enqueue(wire, stream, op, move |wire| {
                        wire.reduce(team.as_ref(), &card, ranges, [len, size], combine)
                    }),
                    Collective::ReduceScatter(Reduce { len, size, combine, .. }) => {
                        enqueue(wire, stream, op, move |wire| {
                            wire.reduce_scatter(team.as_ref(), &card, ranges, [len, size], combine)
                        })
                    }
                }
            },
            // SAFETY: the caller's duty.
            #[cfg(feature = "cuda")]
            Engine::Gpu(gpu) => unsafe { gpu.collective(stream, call, [dst, src], what) },
        }
    }
}

/// How a team is made of another one, by the numbers of both: the new ones are those that follow.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
pub(super) enum Split {
    Strided {
        parent: u32,
        start: usize,
        stride: usize,
        size: usize,
        new: Option<u32>,
    },
    Grid {
        parent: u32,
        width: usize,
        row: u32,
        column: u32,
    },
    /// The PEs of this host.
    Near {
        new: u32,
    },
}

/// An allocation that belongs to a value of the job; `None` has no bytes.
pub(crate) type Entry = Option<NonNull<Alloc>>;

/// The allocation's place in the table, the same on all PEs.
pub(super) fn slot(entry: Entry) -> u64 {
    // SAFETY: an allocation lives until all PEs have dropped their values of it, and the caller's is there.
    entry.map_or(u64::MAX, |alloc| u64::from(unsafe { alloc.as_ref() }.slot))
}

/// The place of an address in an allocation; a place that nobody uses if there is none.
pub(super) fn target(entry: Entry, address: *mut u8) -> Option<Target> {
    entry.map(|alloc| Target::new(alloc, address))
}
