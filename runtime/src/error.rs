//! What can go wrong, and values on their way back from a call that failed.

use std::fmt;
use std::sync::Arc;

/// The operation that an [`Error`] speaks of.
///
/// ```
/// # use escrow::{Device, DeviceContext, Error, Operation};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let Err(Error::Length { op, .. }) = dev.copy_from_slice(&[1]) else { unreachable!() };
/// assert_eq!(op, Operation::Copy);
/// assert_eq!(op.to_string(), "copy");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// `enqueue_copy_to`, `enqueue_copy_from`, `enqueue_create_buffer_from`, `copy_to_slice`, `copy_from_slice`, `to_vec`.
    Copy,
    /// `enqueue_fill`.
    Fill,
    /// A kernel launch.
    Launch,
    /// `synchronize`, `Recorded::wait`.
    Wait,
    /// `record`.
    Record,
    /// `handoff`, `reassign_ownership_to`, `on`.
    Handoff,
    /// `into_shared`, `share_with`, `try_unshare`.
    Share,
    /// `create_host_buffer`, `enqueue_create_buffer` and their variants.
    Create,
    /// `scope`, and the wait at its end; so also `copy_to_slice`, `copy_from_slice` and `to_vec` on a worker.
    Scope,
    /// `from_ptr`, `take_ptr`, and exchanges with other CUDA code.
    Pointer,
    /// `view`, `view_mut`, `create_sub_buffer`.
    View,
    /// `load` of a kernel set.
    Load,
    /// `Scope::register`.
    Register,
    /// `Device::memory_info`.
    Query,
    /// `ShmemContext::put`, `put_signal`, `put_strided` and `p`.
    Put,
    /// `ShmemContext::get`, `get_strided` and `g`.
    Get,
    /// Signals: `set`, `add`, `wait_until`, `fetch`.
    Signal,
    /// `Atomics`.
    Atomic,
    /// `quiet` and `fence`.
    Quiet,
    /// `barrier_all`, `barrier_swap`.
    Barrier,
    /// Collectives of teams, and the making of teams.
    Collective,
    /// Creation and reclaiming of symmetric memory.
    Symmetric,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Copy => "copy",
            Operation::Fill => "fill",
            Operation::Launch => "kernel launch",
            Operation::Wait => "wait",
            Operation::Record => "record",
            Operation::Handoff => "handoff",
            Operation::Share => "share",
            Operation::Create => "create",
            Operation::Scope => "scope",
            Operation::Pointer => "pointer exchange",
            Operation::View => "view",
            Operation::Load => "kernel load",
            Operation::Register => "register",
            Operation::Query => "device query",
            Operation::Put => "put",
            Operation::Get => "get",
            Operation::Signal => "signal",
            Operation::Atomic => "atomic",
            Operation::Quiet => "quiet",
            Operation::Barrier => "barrier",
            Operation::Collective => "collective",
            Operation::Symmetric => "symmetric memory",
        })
    }
}

/// Everything that a call of this library can report.
///
/// An error that was found before the driver or the worker was asked (lengths, streams, ranges) has enqueued nothing
/// and changed nothing. Where values went in by value, they come back in a [`Fault`].
///
/// ```
/// use escrow::{Device, DeviceContext, Error};
/// # fn main() -> Result<(), Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// let error = dev.copy_from_slice(&[1.0; 3]).unwrap_err();
/// assert!(matches!(error, Error::Length { dst: 4, src: 3, .. }));
/// # Ok(()) }
/// ```
///
/// Besides the errors that a call names, each call that enqueues, creates, lends or waits reports
/// [`Error::FromWorker`] on a thread that runs kernel bodies. A stream that failed still takes operations, and skips them; its waits say
/// [`Error::StreamFailed`].
///
/// More errors may come, so a match has an arm for the others:
///
/// ```compile_fail,E0004
/// # use escrow::{Device, DeviceContext, Error};
/// fn advice(error: Error) -> &'static str {
///     match error {
///         Error::Length { .. } => "slice one of the two",
///         Error::WrongStream { .. } => "handoff",
///     }
/// }
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext, Error};
/// fn advice(error: &Error) -> &'static str {
///     match error {
///         Error::Length { .. } => "slice one of the two",
///         Error::WrongStream { .. } => "handoff",
///         _ => "read the message",
///     }
/// }
/// assert_eq!(advice(&Error::EmptyChunk), "read the message");
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two lengths that must be equal are not. Nothing copies a prefix: slice one of the two.
    #[error(
        "{op}: the destination holds {dst} elements and the source {src}; lengths must be equal, `slice` the longer one"
    )]
    Length {
        /// What was asked for.
        op: Operation,
        /// Elements of the destination.
        dst: usize,
        /// Elements of the source.
        src: usize,
    },
    /// A range reaches outside of what it was taken from, or ends before it starts.
    #[error("the range {start}..{end} does not lie in 0..{len}")]
    Range {
        /// First element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// Elements there are.
        len: usize,
    },
    /// A size in bytes does not fit `isize`.
    #[error("{len} elements of {elem_size} bytes are more than any allocation can hold")]
    TooLarge {
        /// Elements asked for.
        len: usize,
        /// Bytes of one element.
        elem_size: usize,
    },
    /// A piece length or chunk length of zero.
    #[error("pieces of 0 elements cannot cover a buffer: ask for at least 1")]
    EmptyChunk,
    /// Memory cannot be seen as elements of another type: its size is not a multiple, or its address not aligned.
    #[error(
        "{bytes} bytes at an address that is {misalign} past a multiple of {align} cannot be seen as elements of {size} bytes with alignment {align}"
    )]
    Layout {
        /// Bytes there are.
        bytes: usize,
        /// Size of the wanted element.
        size: u32,
        /// Alignment of the wanted element.
        align: u32,
        /// Address modulo `align`.
        misalign: u32,
    },
    /// An operand belongs to another stream than the one that the operation runs on.
    #[error(
        "{op}: an operand belongs to another stream than the one the operation runs on; move it there with `handoff` first"
    )]
    WrongStream {
        /// What was asked for.
        op: Operation,
    },
    /// An operand, context or kernel set belongs to another device.
    #[error("{op}: an operand, context or kernel set belongs to another device")]
    WrongDevice {
        /// What was asked for.
        op: Operation,
    },
    /// A shared buffer has other handles, so it cannot become unshared.
    #[error(
        "the buffer is still shared: {holders} handles, pieces or pending reads hold it, this one counted; drop them, and wait for the streams that read it"
    )]
    StillShared {
        /// Handles, pieces and pending reads, the caller's own included.
        holders: usize,
    },
    /// The buffer is a piece of a block, and only whole blocks have a pointer to take.
    #[error("this buffer is a piece of a larger block: `rejoin` all pieces before `take_ptr`")]
    Piece,
    /// Pieces do not lie side by side in one block, in the order given.
    #[error(
        "piece {index} does not start where the piece before it ends in the same block: pass all pieces of one block in order"
    )]
    NotAdjacent {
        /// The first piece that does not fit; 0 if there are no pieces at all.
        index: usize,
    },
    /// The pointer was not given up by `take_ptr`, so it cannot be taken back.
    #[error("this pointer does not own its memory: only what `take_ptr` returned can go into `from_ptr`")]
    NotTaken,
    /// No memory.
    #[error("out of {place} memory: {asked} bytes were asked for, {held} bytes are held by buffers; {}", place.advice())]
    OutOfMemory {
        /// Which memory.
        place: Memory,
        /// Bytes asked for.
        asked: usize,
        /// Bytes in live buffers, and in dropped ones that a stream has not passed yet; of a GPU's memory all that is in use
        /// of the driver's pool.
        held: usize,
    },
    /// The call came from a kernel body. A worker that waits for itself would never return.
    #[error(
        "{op}: called from a kernel body, on a thread that runs a device's work; enqueue and wait from other threads"
    )]
    FromWorker {
        /// What was asked for.
        op: Operation,
    },
    /// A kernel body panicked on this stream or on one that this stream waits for. What was enqueued behind is skipped.
    #[error("the stream failed: {0}; what was enqueued behind is skipped, make a new context to go on")]
    StreamFailed(Arc<Failure>),
    /// A kernel's arguments do not meet what its declaration requires.
    #[error("kernel `{}` requires `{}`, but {}", .0.kernel, .0.condition, .0.found)]
    Requires(Box<Requirement>),
    /// A launch geometry that the kernel's declaration or the device does not admit.
    #[error("kernel `{}`: {}", .0.kernel, .0.condition)]
    Geometry(Box<Requirement>),
    /// The kernel has no body for this device.
    #[error(
        "kernel `{kernel}` has no body for this device: on the CPU it needs a Rust body, `#[cpu(...)]` in its declaration, on a GPU a PTX file, `#[kernels(.., ptx = \"..\")]`"
    )]
    NoBody {
        /// Name of the kernel.
        kernel: &'static str,
    },
    /// There is no such kernel in the set's device code.
    #[error("there is no kernel `{kernel}` in the set's device code: in PTX it must be a `.visible .entry`")]
    NoFunction {
        /// Its name there.
        kernel: &'static str,
    },
    /// A kernel in an image has other parameters than its declaration.
    #[error(
        "kernel `{kernel}`: parameter {index} has {declared} bytes in the declaration and {found} in the image, where 0 means that there is none"
    )]
    WrongParameter {
        /// Its name in the image.
        kernel: &'static str,
        /// The first parameter that differs, counted from 0.
        index: u32,
        /// Its bytes in the declaration; 0 if there is none.
        declared: u32,
        /// Its bytes in the image; 0 if there is none.
        found: u32,
    },
    /// A length does not fit the integer that hands it to a kernel (`len_of`).
    #[error("the length {len} does not fit the {bits}-bit integer `{name}` that hands it to the kernel")]
    LengthOf {
        /// The parameter or field.
        name: &'static str,
        /// The length.
        len: usize,
        /// Width of the integer.
        bits: u32,
    },
    /// An environment variable has a value that cannot be used.
    #[error("{}={:?} is not usable: {}", .0.name, .0.value, .0.expected)]
    Setting(Box<Setting>),
    /// The system gave no thread for a stream.
    #[error("no thread could be started for a stream: {0}")]
    Thread(Arc<std::io::Error>),
    /// There is no such device.
    #[error("there is no GPU {ordinal}: the driver knows {count}")]
    NoDevice {
        /// The number asked for.
        ordinal: usize,
        /// GPUs there are.
        count: usize,
    },
    /// Something of another library or of the system that cannot be used, such as a blocking CUDA stream.
    #[error("{op}: {why}")]
    Refused {
        /// What was asked for.
        op: Operation,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Another PE of the job failed: it panicked, returned an error, or left. The job is over for all.
    #[error("PE {} failed: {}; the job is over", .0.pe, .0.message)]
    PeFailed(Arc<PeFailure>),
    /// The PEs made different collective calls, or one call with different sizes, types or buffers. The job is over for
    /// all.
    #[error(
        "the PEs' collective calls differ: PE {} is in {}, PE {} in {}; all PEs make the same calls in the same order, with the same lengths and types",
        .0.here.0, .0.here.1, .0.there.0, .0.there.1
    )]
    Diverged(Arc<Divergence>),
    /// There is no such PE.
    #[error("there is no PE {pe}: the team has {n_pes}, counted from 0")]
    NoPe {
        /// The number asked for.
        pe: usize,
        /// PEs of the team.
        n_pes: usize,
    },
    /// A PE of another team, though of one tag.
    #[error("{op}: this PE was named by another team; a tag is a label, and several teams may bear it")]
    WrongTeam {
        /// What was asked for.
        op: Operation,
    },
    /// A job could not start, and why.
    #[error("the job could not start: {0}")]
    Job(Arc<str>),
    /// The engine of the job does not have this operation.
    #[error("{op}: this job's engine has no {what}")]
    Unsupported {
        /// What was asked for.
        op: Operation,
        /// What it lacks.
        what: &'static str,
    },
    /// A driver call failed. It may report what an earlier operation did; after most such errors nothing of the device
    /// works any more in this process.
    #[error("{op}: the driver answered {code}{}", driver_text(*code))]
    Driver {
        /// What was asked for.
        op: Operation,
        /// The driver's own number.
        code: i32,
    },
}

/// What the driver calls an error, if there is a driver.
fn driver_text(code: i32) -> String {
    #[cfg(feature = "cuda")]
    return crate::cuda::error_text(code);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = code;
        String::new()
    }
}

/// The memories of a device.
///
/// ```
/// assert_eq!(escrow::Memory::Host.to_string(), "host");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Pinned host memory.
    Host,
    /// Device memory.
    Device,
    /// Memory of the symmetric heap.
    Symmetric,
}

impl Memory {
    /// What to do when there is no more of it.
    fn advice(self) -> &'static str {
        match self {
            Memory::Host | Memory::Device => "drop buffers, or call `Device::trim`",
            Memory::Symmetric => {
                "drop buffers on all PEs, or make the heap larger: `SHMEM_SYMMETRIC_HEAP_SIZE` for Open MPI, `NVSHMEM_SYMMETRIC_SIZE` for NVSHMEM"
            }
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Memory::Host => "host",
            Memory::Device => "device",
            Memory::Symmetric => "symmetric",
        })
    }
}

/// An environment variable that cannot be used.
///
/// ```
/// # use escrow::{Device, DeviceContext, Error};
/// // With ESCROW_CPU_THREADS=many in the environment:
/// match DeviceContext::new(Device::cpu()) {
///     Ok(_) => {}
///     Err(Error::Setting(setting)) => eprintln!("{} should be: {}", setting.name, setting.expected),
///     Err(error) => eprintln!("{error}"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: Box<str>,
    /// What would be accepted.
    pub expected: &'static str,
}

/// Why a stream failed. The first failure of a stream stays for good.
///
/// ```
/// # use escrow::{Device, DeviceContext, Error, KernelSpanMut, Share};
/// # #[escrow::kernels(struct Set)]
/// # unsafe extern "kernel" { #[cpu(lookup)] #[launch(cover(y))] safe fn lookup(y: &mut [f32]); }
/// fn lookup(_: &mut Share<'_>, _: KernelSpanMut<'_, f32>) {
///     panic!("no table");
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// Set::load(ctx.device())?.lookup(&ctx, &mut dev)?; // enqueued: the failure shows at the wait
/// let Err(Error::StreamFailed(failure)) = dev.to_vec() else { unreachable!() };
/// assert_eq!((failure.kernel, failure.message.as_str()), ("lookup", "no table"));
/// # Ok(()) }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The kernel whose body panicked.
    pub kernel: &'static str,
    /// What the panic said.
    pub message: String,
}

/// Which PE ended the job, and why.
///
/// ```
/// # use escrow::{Error, shmem};
/// let failed = shmem::launch(2, |job| -> Result<(), Error> {
///     if job.my_pe() == 1 {
///         return Err(job.pe(7).unwrap_err()); // this PE's own error is what `launch` returns
///     }
///     let waited = job.barrier_all(()).and_then(|()| Ok(job.context().synchronize(())?));
///     let Err(Error::PeFailed(failure)) = waited else { unreachable!() };
///     assert_eq!((failure.pe, failure.message.as_str()), (1, "there is no PE 7: the team has 2, counted from 0"));
///     Ok(())
/// });
/// assert!(matches!(failed, Err(Error::NoPe { pe: 7, n_pes: 2 })));
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeFailure {
    /// The PE that failed first.
    pub pe: usize,
    /// What its panic or its error said.
    pub message: String,
}

/// Two collective calls that should have been one.
///
/// ```
/// # use escrow::{Error, shmem};
/// let Err(Error::Diverged(calls)) = shmem::launch(2, |job| {
///     job.create_buffer_zeroed::<f32>(4 + job.my_pe())?; // 4 elements here, 5 there
///     Ok(())
/// }) else { unreachable!() };
/// assert_eq!(calls.here.1, "`create_buffer` of 4 elements of 4 bytes (call 1 of the team)");
/// assert_eq!(calls.there.1, "`create_buffer` of 5 elements of 4 bytes (call 1 of the team)");
/// ```
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// This PE, and what it called.
    pub here: (usize, String),
    /// Another PE, and what that one called.
    pub there: (usize, String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body of kernel `{}` panicked: {}", self.kernel, self.message)
    }
}

/// A condition of a kernel's declaration that a launch did not meet.
///
/// ```
/// # use escrow::{Device, DeviceContext, Error};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     #[requires(x.len() == y.len())]
///     safe fn add(x: &[f32], y: &mut [f32]);
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let x = ctx.enqueue_create_buffer_zeroed::<f32>(1)?;
/// # let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(2)?;
/// let Err(Error::Requires(why)) = Set::load(ctx.device())?.add(&ctx, &x, &mut y) else { unreachable!() };
/// assert_eq!((why.kernel, why.condition.as_str()), ("add", "x.len() == y.len()"));
/// assert_eq!(why.found, "`x.len()` is 1 and `y.len()` is 2");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requirement {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// The condition, as the declaration has it.
    pub condition: String,
    /// The values that it was tried with.
    pub found: String,
}

/// An error that hands the values back.
///
/// In `Result<V, Fault<V>>` both arms hold the type that success would have held, so host operands are `InFlight`; if
/// nothing was enqueued, nothing is pending on them and a wait gives them back at once. Device memory comes back under
/// its old type and stream. `?` turns a `Fault` into its [`Error`] and drops the values, which is always safe.
///
/// ```
/// use escrow::{Device, DeviceContext, Error, Fault};
/// # fn main() -> Result<(), Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
/// let host = ctx.create_host_buffer_from(&[1u8, 2])?;
/// let Err(Fault { error, value }) = dev.enqueue_copy_from(host) else { unreachable!() };
/// assert!(matches!(error, Error::Length { dst: 3, src: 2, .. }));
/// assert_eq!(ctx.synchronize(value)?.as_span(), [1, 2]); // nothing was lost
/// # Ok(()) }
/// ```
///
/// What went in is in the fault, and nowhere else:
///
/// ```compile_fail,E0382
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
/// let host = ctx.create_host_buffer_from(&[1u8, 2])?;
/// if let Err(fault) = dev.enqueue_copy_from(host) {
///     println!("{}", host[0]); // `fault.value` has it
/// }
/// # Ok(()) }
/// ```
#[must_use = "the values of the failed call are in here"]
pub struct Fault<V> {
    /// What went wrong.
    pub error: Error,
    /// What the call was given, as the type that success would have returned.
    pub value: V,
}

impl<V> Fault<V> {
    /// The same error with another value.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
    /// let fault = dev.enqueue_copy_from(ctx.create_host_buffer::<u8>(2)?).unwrap_err();
    /// let fault = fault.map(|host| ("staging", host));
    /// assert_eq!(fault.value.0, "staging");
    /// # Ok(()) }
    /// ```
    pub fn map<U>(self, f: impl FnOnce(V) -> U) -> Fault<U> {
        Fault { error: self.error, value: f(self.value) }
    }

    /// Error and value.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let whole = ctx.create_host_buffer_from(&[1u8, 2])?;
    /// let (error, whole) = whole.into_split_at(3).unwrap_err().into_parts();
    /// assert_eq!(error.to_string(), "the range 0..3 does not lie in 0..2");
    /// assert_eq!(whole[..], [1, 2]);
    /// # Ok(()) }
    /// ```
    pub fn into_parts(self) -> (Error, V) {
        (self.error, self.value)
    }
}

impl<V> From<Fault<V>> for Error {
    fn from(fault: Fault<V>) -> Error {
        fault.error
    }
}

// Never the value: it may be in flight.
impl<V> fmt::Debug for Fault<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<V> fmt::Display for Fault<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<V> std::error::Error for Fault<V> {}
