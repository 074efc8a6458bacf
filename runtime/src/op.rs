//! Operations as values, so that one path leads to every kind of device.

use std::mem::{MaybeUninit, align_of, size_of};
use std::ptr;

use crate::error::Error;

/// Bytes that an operation carries in place. Larger arguments are boxed: the one case that allocates.
pub(crate) const INLINE_BYTES: usize = 128;

/// Plain bytes of one value, kept in place up to [`INLINE_BYTES`], aligned to 16.
pub(crate) enum Packed {
    Inline(MaybeUninit<[u128; INLINE_BYTES / 16]>),
    Heap(Box<[MaybeUninit<u128>]>),
}

impl Packed {
    /// Takes the bytes of `value`. `T: Copy`, so nothing needs dropping.
    #[inline]
    pub(crate) fn new<T: Copy>(value: T) -> Packed {
        const { assert!(align_of::<T>() <= 16, "arguments are aligned to at most 16 bytes") };
        if size_of::<T>() <= INLINE_BYTES {
            let mut bytes = MaybeUninit::<[u128; INLINE_BYTES / 16]>::uninit();
            // SAFETY: the array is at least as large as `T` (branch) and as aligned (16, asserted above).
            unsafe { bytes.as_mut_ptr().cast::<T>().write(value) };
            Packed::Inline(bytes)
        } else {
            let mut bytes = vec![MaybeUninit::<u128>::uninit(); size_of::<T>().div_ceil(16)].into_boxed_slice();
            // SAFETY: the box has at least `size_of::<T>()` bytes (line above), aligned to 16.
            unsafe { bytes.as_mut_ptr().cast::<T>().write(value) };
            Packed::Heap(bytes)
        }
    }

    /// Where the bytes lie; valid for reads of the `T` that [`Packed::new`] took, as long as `self` is not moved.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        match self {
            Packed::Inline(bytes) => ptr::from_ref(bytes).cast(),
            Packed::Heap(bytes) => bytes.as_ptr().cast(),
        }
    }
}

/// A kernel with a Rust body, as the CPU device runs it.
pub(crate) struct CpuLaunch {
    /// Runs the body for the linear thread indices `start..end`, reading its arguments from the first pointer.
    pub(crate) run: unsafe fn(args: *const u8, start: usize, end: usize),
    pub(crate) args: Packed,
    /// Threads of the launch: grid times block, or what the computed launch covers.
    pub(crate) threads: usize,
    /// The body wants all indices on one thread.
    pub(crate) single: bool,
    pub(crate) kernel: &'static str,
}

/// A function of this crate that a worker calls: a remote operation of a SHMEM job.
pub(crate) struct Call {
    /// Runs it, reading its arguments from the pointer. An error fails the stream.
    pub(crate) run: unsafe fn(args: *const u8) -> Result<(), Error>,
    /// Called in its place on a stream that has failed: nobody will come where others may be waiting.
    pub(crate) skip: unsafe fn(args: *const u8, failure: &Error),
    pub(crate) args: Packed,
}

/// One operation of a stream.
///
/// Whoever makes one owes that every pointer in it stays valid, and unused by others as the operation's access demands,
/// until the stream has passed the operation: see `soundness.md`.
pub(crate) enum Op {
    /// Copies between ranges that do not overlap.
    Copy { dst: *mut u8, src: *const u8, bytes: usize },
    /// Writes `count` copies of the first `size` bytes of `pattern`.
    Fill { dst: *mut u8, pattern: Packed, size: usize, count: usize },
    /// Runs a Rust kernel body.
    Launch(CpuLaunch),
    /// Calls a function of this crate, which may wait for other PEs.
    Call(Call),
    /// Nothing behind this starts before the event has fired. If it fires as failed, this stream fails too.
    Wait(crate::cpu::Event),
    /// Nothing behind this starts before the event has fired, as failed or not: the end of another stream's reads.
    After(crate::cpu::Event),
}

// SAFETY: the pointers are used by the worker only under the duty in the documentation of `Op`; elements and kernel
// arguments are `Send` (`DType` and the sealed argument traits demand it).
unsafe impl Send for Op {}
