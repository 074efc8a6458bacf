//! Atomic operations on other PEs' memory.

use std::fmt;

use super::context::ShmemContext;
use super::exposed::Remote;
use super::pe::Pe;
use super::transport::{Atomic, Rmw, Target};
use super::worker;
use crate::dtype::DType;
use crate::error::{Error, Operation};
use crate::operand::{SameElem, SameStream};
use crate::tag::{Dyn, StreamTag};

const OP: Operation = Operation::Atomic;

mod elem {
    #[diagnostic::on_unimplemented(
        message = "`AtomicElem` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

/// Elements that atomic operations take: integers of 32 and 64 bits.
///
/// ```compile_fail,E0277
/// # use escrow::{AtomicElem, shmem};
/// fn atomic<T: AtomicElem>() {}
/// atomic::<f32>(); // no engine adds floats everywhere
/// ```
///
/// ```
/// # use escrow::AtomicElem;
/// fn atomic<T: AtomicElem>() {}
/// atomic::<u64>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no atomic operations",
    label = "not an element of atomic operations",
    note = "`i32`, `u32`, `i64` and `u64` have them on every engine that has any"
)]
pub trait AtomicElem: DType + elem::Sealed {
    #[doc(hidden)]
    fn to_bits(self) -> u64;
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;
}

macro_rules! elems {
    ($($t:ty as $bits:ty),+) => { $(
        impl elem::Sealed for $t {}
        impl AtomicElem for $t {
            fn to_bits(self) -> u64 {
                u64::from(self as $bits)
            }
            fn from_bits(bits: u64) -> $t {
                bits as $t
            }
        }
    )+ };
}
elems!(i32 as u32, u32 as u32, i64 as u64, u64 as u64);

/// The atomic operations of a job whose engine has them: [`ShmemContext::atomics`].
///
/// Operations on one element are atomic among each other, whichever PEs make them. Puts and gets of the same element at the
/// same time see or leave mixed bytes.
///
/// ```
/// # use escrow::{Error, shmem};
/// let tickets = shmem::launch(4, |job| {
///     let counter = job.barrier_all(job.create_buffer_zeroed::<u64>(1)?)?;
///     let ticket = job.atomics()?.fetch_add(1u64, &counter, 0, job.pe(0)?)?; // each PE draws a number
///     job.barrier_all(counter)?;
///     Ok(ticket)
/// })?;
/// let mut sorted = tickets.clone();
/// sorted.sort();
/// assert_eq!(sorted, [0, 1, 2, 3]);
/// # Ok::<(), Error>(())
/// ```
///
/// What a PE has for itself is not for them:
///
/// ```compile_fail,E0277
/// # use escrow::shmem;
/// # shmem::launch(1, |job| {
/// let mine = job.create_buffer_zeroed::<u64>(1)?;
/// job.atomics()?.fetch_add(1u64, &mine, 0, job.pe(0)?)?; // not exposed
/// # Ok(()) });
/// ```
pub struct Atomics<'job, S: StreamTag = Dyn> {
    job: &'job ShmemContext<S>,
}

impl<S: StreamTag> ShmemContext<S> {
    /// The atomic operations, if the engine of the job has them.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| job.atomics().map(|_| ()))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn atomics(&self) -> Result<Atomics<'_, S>, Error> {
        let (engine, _) = self.engine_and_stream();
        engine.check()?;
        engine.wire().map(|_| Atomics { job: self })
    }
}

impl<S: StreamTag> Atomics<'_, S> {
    fn target<T: AtomicElem, D: Remote>(&self, dst: &D, index: usize) -> Result<Target, Error> {
        self.job.element::<T, D>(OP, dst, index)
    }

    fn enqueue<T: AtomicElem, D: Remote>(
        &self,
        rmw: Rmw,
        value: T,
        dst: &D,
        index: usize,
        pe: Pe<'_>,
    ) -> Result<(), Error> {
        let at = self.target::<T, D>(dst, index)?;
        let (wide, operand, pe) = (size_of::<T>() == 8, value.to_bits(), pe.world as usize);
        let what = Atomic { at, wide, rmw, operand, compare: 0, fetches: false, pe };
        let (engine, stream) = self.job.engine_and_stream();
        // SAFETY: the element lies in an allocation that this PE has not dropped, aligned for its type.
        unsafe {
            worker::enqueue_short(engine.wire()?, stream, OP, size_of::<T>(), move |wire| {
                wire.transport().atomic(what);
                Ok(())
            })
        }
    }

    fn fetch_with<T: AtomicElem, D: Remote>(
        &self,
        rmw: Rmw,
        [value, compare]: [T; 2],
        dst: &D,
        index: usize,
        pe: Pe<'_>,
    ) -> Result<T, Error> {
        let at = self.target::<T, D>(dst, index)?;
        let (operand, compare) = (value.to_bits(), compare.to_bits());
        let (wide, pe) = (size_of::<T>() == 8, pe.world as usize);
        let what = Atomic { at, wide, rmw, operand, compare, fetches: true, pe };
        let (engine, stream) = self.job.engine_and_stream();
        worker::run_on_stream(engine.wire()?, stream, OP, |wire| {
            // SAFETY: as for `enqueue`.
            Ok(T::from_bits(unsafe { wire.transport().atomic(what) }))
        })
    }

    /// The element as it is. Waits for the stream. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer::<u32>(1)?.enqueue_fill(6)?)?;
    ///     assert_eq!(job.atomics()?.fetch::<u32, _>(&open, 0, job.next())?, 6);
    ///     job.barrier_all(open).map(|_| ())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::WrongStream`]; what made the stream fail.
    pub fn fetch<T: AtomicElem, D: Remote>(&self, src: &D, index: usize, pe: Pe<'_>) -> Result<T, Error>
    where
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        self.fetch_with(Rmw::Fetch, [T::from_bits(0); 2], src, index, pe)
    }

    /// Sets the element to `value` if it is `expected`, and returns what it was. Waits for the stream. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let winners = shmem::launch(3, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(1)?)?;
    ///     let before = job.atomics()?.compare_swap(0, job.my_pe() as u32 + 1, &open, 0, job.pe(0)?)?;
    ///     job.barrier_all(open)?;
    ///     Ok(before == 0)
    /// })?;
    /// assert_eq!(winners.into_iter().filter(|won| *won).count(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`fetch`](Atomics::fetch).
    pub fn compare_swap<T: AtomicElem, D: Remote>(
        &self,
        expected: T,
        value: T,
        dst: &D,
        index: usize,
        pe: Pe<'_>,
    ) -> Result<T, Error>
    where
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        self.fetch_with(Rmw::CompareSwap, [value, expected], dst, index, pe)
    }
}

macro_rules! operations {
    ($($plain:ident, $fetching:ident, $rmw:ident, $what:literal, $old:literal, $value:literal, $new:literal;)+) => {
        impl<S: StreamTag> Atomics<'_, S> { $(
            #[doc = concat!("Enqueues that the element ", $what, ". Does not block.")]
            ///
            /// ```
            /// # use escrow::{Error, shmem};
            /// shmem::launch(1, |job| {
            #[doc = concat!("    let open = job.barrier_all(job.create_buffer::<u32>(1)?.enqueue_fill(", $old, ")?)?;")]
            #[doc = concat!("    job.atomics()?.", stringify!($plain), "(", $value, "u32, &open, 0, job.me())?;")]
            #[doc = concat!("    Ok(assert_eq!(job.barrier_all(open)?.to_vec()?, [", $new, "]))")]
            /// })?;
            /// # Ok::<(), Error>(())
            /// ```
            ///
            /// # Errors
            /// [`Error::Range`], [`Error::WrongStream`], [`Error::PeFailed`]; nothing was enqueued.
            pub fn $plain<T: AtomicElem, D: Remote>(&self, value: T, dst: &D, index: usize, pe: Pe<'_>) -> Result<(), Error>
            where
                D::Elem: SameElem<T>,
                D::Tag: SameStream<S>,
            {
                self.enqueue(Rmw::$rmw, value, dst, index, pe)
            }

            #[doc = concat!("The element ", $what, "; returns what it was. Waits for the stream. **Blocks.**")]
            ///
            /// ```
            /// # use escrow::{Error, shmem};
            /// shmem::launch(1, |job| {
            #[doc = concat!("    let open = job.barrier_all(job.create_buffer::<u32>(1)?.enqueue_fill(", $old, ")?)?;")]
            #[doc = concat!("    let old = job.atomics()?.", stringify!($fetching), "(", $value, "u32, &open, 0, job.me())?;")]
            #[doc = concat!("    assert_eq!(old, ", $old, ");")]
            #[doc = concat!("    Ok(assert_eq!(job.barrier_all(open)?.to_vec()?, [", $new, "]))")]
            /// })?;
            /// # Ok::<(), Error>(())
            /// ```
            ///
            /// # Errors
            /// As for [`fetch`](Atomics::fetch).
            pub fn $fetching<T: AtomicElem, D: Remote>(&self, value: T, dst: &D, index: usize, pe: Pe<'_>) -> Result<T, Error>
            where
                D::Elem: SameElem<T>,
                D::Tag: SameStream<S>,
            {
                self.fetch_with(Rmw::$rmw, [value, value], dst, index, pe)
            }
        )+ }
    };
}

operations! {
    set, swap, Set, "becomes `value`", "6", "9", "9";
    add, fetch_add, Add, "has `value` added, and wraps around", "6", "3", "9";
    and, fetch_and, And, "keeps the bits that `value` has", "6", "3", "2";
    or, fetch_or, Or, "gets the bits that `value` has", "6", "3", "7";
    xor, fetch_xor, Xor, "has the bits flipped that `value` has", "6", "3", "5";
}

impl<S: StreamTag> fmt::Debug for Atomics<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Atomics({:?})", self.job)
    }
}
