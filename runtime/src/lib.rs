//! Typed buffers for GPU and PGAS programs, whose asynchronous copies are proven safe by the compiler.
//!
//! Memory that a stream is using is in escrow: the host gives it up by value, cannot touch it, and gets it back only
//! from a wait that covers the work. Everything else follows from that.
//!
//! ```
//! use escrow::{Device, DeviceContext};
//! # fn main() -> Result<(), escrow::Error> {
//! let ctx = DeviceContext::new(Device::default_device()?)?;
//! let host = ctx.create_host_buffer_from(&[1.0f32, 2.0, 3.0])?;
//! let (dev, host) = ctx.enqueue_create_buffer_from(host)?; // `host` is in flight: `host[0]` does not compile
//! let host = dev.enqueue_copy_to(host)?;                   // same stream, still in flight
//! let host = ctx.synchronize(host)?;                       // ours again
//! assert_eq!(host[2], 3.0);
//! # Ok(()) }
//! ```

#[cfg(not(target_pointer_width = "64"))]
compile_error!("escrow hands 64-bit addresses to devices: it needs a 64-bit target");

#[cfg(all(feature = "cuda", not(unix)))]
compile_error!("the feature `cuda` is for Linux: jobs on GPUs load their library and start processes as it does there");

// Macros expand to `::escrow` paths, in this crate's own tests too.
extern crate self as escrow;

mod block;
mod context;
mod copy;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod device;
mod device_buffer;
mod dtype;
mod error;
mod flight;
mod free_list;
mod handoff;
mod host;
mod kernel;
mod landing;
mod op;
mod operand;
mod owner;
mod parking;
mod peer;
mod pieces;
mod pointer;
mod region;
mod scope;
mod shared_device;
mod shared_host;
mod span;
mod stream;
mod symmetric;
mod tag;
mod wait;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use context::DeviceContext;
/// The crate behind the feature `cuda`, for what goes in and out of it: raw streams, addresses, its `DeviceBuffer`.
#[cfg(feature = "cuda")]
pub use cust;
pub use device::{Device, MemoryInfo};
pub use device_buffer::{DeviceBuffer, HostReadable};
pub use dtype::{Bool8, DType, F8E4M3, F8E5M2, Init, PodElement};
pub use error::{Error, Failure, Fault, Memory, Operation, Requirement, Setting};
/// The derives: `DType` for elements of buffers, `DevicePassable` for structs that kernels take by value.
///
/// ```
/// use escrow::{DType, Device, DeviceContext, DeviceLayout, DevicePassable, DeviceSpan};
///
/// #[derive(Clone, Copy, Debug, PartialEq, DType)]
/// #[repr(C)]
/// struct Weights {
///     center: f32,
///     edge: f32,
/// }
///
/// #[derive(DevicePassable)]
/// struct Params<'a> {
///     table: DeviceSpan<'a, Weights>,
///     #[device(len_of(table))]
///     n: u32,
/// }
///
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let table = ctx.enqueue_create_buffer::<Weights>(4)?.enqueue_fill(Weights { center: 1.0, edge: 0.5 })?;
/// let params = Params { table: table.as_span(), n: 0 }; // a kernel gets 4 there
/// assert_eq!(table.to_vec()?[3].edge, 0.5);
/// assert!(Params::C_DECL.contains("struct Params"));
/// # let _ = (params.table, params.n);
/// # Ok(()) }
/// ```
pub use escrow_macros::{DType, DevicePassable};
pub use flight::{HostMemory, InFlight, OnHost};
pub use handoff::Handoff;
pub use host::HostBuffer;
pub use kernel::{
    ArgCheck, DeviceLayout, DevicePassable, DeviceRead, DeviceWrite, Dim, KernelLen, KernelOut, KernelSpan,
    KernelSpanMut, Launch, Share, SpanLen, kernels,
};
pub use operand::{AnyStream, CopyDst, CopySrc, SameElem, SameStream};
pub use owner::ManyOwners;
pub use pointer::{DevicePtr, HostPtr, TrustedPtr};
pub use scope::{HostSpan, HostSpanMut, RegisteredSpan, Scope};
pub use shared_device::SharedDeviceBuffer;
pub use shared_host::SharedHostBuffer;
pub use span::{DeviceSpan, DeviceSpanMut};
pub use symmetric::{
    AtomicElem, Atomics, Exposed, ExposedSpan, Flip, KernelPeer, Local, Pe, PeerSpan, Reduction, Remote, ShmemBuffer,
    ShmemContext, Signal, SignalKind, Team, TeamTag,
};
pub use tag::{Dyn, StreamTag};
pub use wait::{Flight, Recorded};

/// SHMEM: starting a job of several PEs, and the words that its signals, teams and reductions are told in. The types are at
/// the crate's root; the job is [`ShmemContext`].
///
/// ```
/// use escrow::{Error, shmem};
/// assert_eq!(shmem::launch(2, |job| Ok(job.my_pe()))?, [0, 1]);
/// # Ok::<(), Error>(())
/// ```
pub mod shmem {
    pub use crate::symmetric::{Add, And, Cmp, Max, Min, Node, Or, Prod, Set, Sum, World, Xor, launch, launch_on};
}

/// The README's example runs too.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
