//! Signals: words that say that something has arrived.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::card::Kind;
use super::context::ShmemContext;
use super::engine::Notice;
use super::exposed::Remote;
use super::pe::{Bound, Kept, Pe};
use super::transport::{Alloc, Target};
use crate::dtype::Init;
use crate::error::{Error, Operation};
use crate::kernel::DeviceRead;
use crate::operand::{SameElem, SameStream};
use crate::tag::{Dyn, StreamTag};

/// The kind of signals that are set to a value.
///
/// ```
/// # use escrow::{Error, shmem::{self, Cmp, Set}};
/// shmem::launch(2, |job| {
///     let ready = job.create_signal(Set)?;
///     ready.set(job.next(), 7)?;
///     ready.wait_until(Cmp::Eq, 7)
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set;

/// The kind of signals to which values are added.
///
/// ```
/// # use escrow::{Error, shmem::{self, Add, Cmp}};
/// shmem::launch(3, |job| {
///     let arrived = job.create_signal(Add)?;
///     job.iter().try_for_each(|pe| arrived.add(pe, 1))?;
///     arrived.wait_until(Cmp::Ge, 3) // all three
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Add;

mod kind {
    #[diagnostic::on_unimplemented(
        message = "`SignalKind` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

/// How a signal changes: [`Set`] or [`Add`]. One signal is one of the two, for good.
///
/// ```
/// # use escrow::{Error, ShmemContext, Signal, SignalKind, shmem::{Add, Set}};
/// fn make<'job, K: SignalKind>(job: &'job ShmemContext, kind: K) -> Result<Signal<'job, K>, Error> {
///     job.create_signal(kind)
/// }
/// # escrow::shmem::launch(1, |job| { make(job, Add)?; make(job, Set)?; Ok(()) })?;
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::shmem;
/// # shmem::launch(1, |job| {
/// let signal = job.create_signal(0u64)?; // its first value is 0, and its kind `Set` or `Add`
/// # Ok(()) });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind of signal",
    label = "not a kind of signal",
    note = "`shmem::Set` for signals that are set to a value, `shmem::Add` for those to which values are added"
)]
pub trait SignalKind: kind::Sealed + Copy {
    #[doc(hidden)]
    const ADDS: bool;
}
impl kind::Sealed for Set {}
impl SignalKind for Set {
    const ADDS: bool = false;
}
impl kind::Sealed for Add {}
impl SignalKind for Add {
    const ADDS: bool = true;
}

/// How a signal is compared with a value.
///
/// ```
/// # use escrow::{Error, shmem::{self, Add, Cmp}};
/// shmem::launch(1, |job| {
///     let signal = job.create_signal(Add)?;
///     signal.add(job.me(), 3)?;
///     [Cmp::Eq, Cmp::Ge, Cmp::Le].into_iter().try_for_each(|cmp| signal.wait_until(cmp, 3))?;
///     signal.wait_until(Cmp::Ne, 0)?;
///     signal.wait_until(Cmp::Gt, 2)?;
///     signal.wait_until(Cmp::Lt, 4)
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cmp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

impl Cmp {
    pub(super) fn holds(self, signal: u64, value: u64) -> bool {
        match self {
            Cmp::Eq => signal == value,
            Cmp::Ne => signal != value,
            Cmp::Gt => signal > value,
            Cmp::Ge => signal >= value,
            Cmp::Lt => signal < value,
            Cmp::Le => signal <= value,
        }
    }
}

/// A word on each PE by which the others say that something has arrived. It starts at 0, and only signal operations reach
/// it. `K` says whether it is set or added to.
///
/// Dropped, it is queued as symmetric buffers are.
///
/// ```
/// # use escrow::{Error, shmem::{self, Add, Cmp}};
/// let got = shmem::launch(2, |job| {
///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(2)?)?;
///     let arrived = job.create_signal(Add)?;
///     let mine = job.context().enqueue_create_buffer::<u32>(2)?.enqueue_fill(job.my_pe() as u32)?;
///     job.put_signal(&mine, &open, job.next(), &arrived, 1)?; // the data, then the signal
///     arrived.wait_until(Cmp::Ge, 1)?;                        // behind this, the neighbour's data is here
///     job.barrier_all(open)?.to_vec()
/// })?;
/// assert_eq!(got, [[1, 1], [0, 0]]);
/// # Ok::<(), Error>(())
/// ```
///
/// What is set is not added to:
///
/// ```compile_fail,E0277
/// # use escrow::{Error, Pe, Signal, shmem::Set};
/// fn count(ready: &Signal<'_, Set>, pe: Pe<'_>) -> Result<(), Error> {
///     ready.add(pe, 1) // make it with `create_signal(Add)`
/// }
/// ```
pub struct Signal<'job, K: SignalKind, S: StreamTag = Dyn> {
    bound: Bound,
    alloc: Kept<NonNull<Alloc>>,
    job: &'job ShmemContext<S>,
    kind: PhantomData<K>,
}

impl<S: StreamTag> ShmemContext<S> {
    /// A signal, 0 on each PE. All PEs call it. **Blocks** until all PEs are here.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Set}};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.create_signal(Set)?.fetch()?, 0)))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_buffer`](ShmemContext::create_buffer).
    pub fn create_signal<K: SignalKind>(&self, kind: K) -> Result<Signal<'_, K, S>, Error> {
        let _ = kind;
        let alloc = Kept(self.allocate(self.card(Kind::CreateSignal, [u64::from(K::ADDS), 0, 0], 0), 64)?);
        let signal = Signal { bound: Bound::default(), alloc, job: self, kind: PhantomData };
        let word = signal.word();
        let (engine, stream) = self.engine_and_stream();
        // Zero here, and on all PEs before one of them can reach another's.
        // SAFETY: the word is this PE's own, and nobody knows it yet.
        unsafe { engine.clear_word(stream, word) }?;
        self.agree(Operation::Signal, self.card(Kind::CreateSignal, [2, 0, 0], 0))?;
        Ok(signal)
    }

    /// Enqueues a [`put`](ShmemContext::put), and behind it, when the data has arrived, a change of `pe`'s `signal`: a set
    /// signal is set to `value`, an adding one has it added. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Cmp, Set}};
    /// let got = shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(1)?)?;
    ///     let ready = job.create_signal(Set)?;
    ///     let mine = job.context().enqueue_create_buffer::<u32>(1)?.enqueue_fill(job.my_pe() as u32 + 5)?;
    ///     job.put_signal(&mine, &open, job.next(), &ready, 1)?;
    ///     ready.wait_until(Cmp::Eq, 1)?;
    ///     job.barrier_all(open)?.to_vec()
    /// })?;
    /// assert_eq!(got, [[6], [5]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](ShmemContext::put).
    pub fn put_signal<X: DeviceRead, D: Remote, K: SignalKind>(
        &self,
        src: &X,
        dst: &D,
        pe: Pe<'_>,
        signal: &Signal<'_, K, S>,
        value: u64,
    ) -> Result<(), Error>
    where
        X::Elem: Init,
        D::Elem: SameElem<X::Elem>,
        X::Tag: SameStream<S>,
        D::Tag: SameStream<S>,
    {
        let (engine, stream) = self.engine_and_stream();
        let put = self.compare_put(src, dst, pe)?;
        // SAFETY: as for `put`; the signal's word lies in an allocation that this PE has not dropped.
        unsafe { engine.notify(stream, Operation::Put, put, signal.notice(value), pe.world as usize) }
    }
}

impl<K: SignalKind, S: StreamTag> Signal<'_, K, S> {
    fn word(&self) -> Target {
        // SAFETY: an allocation lives until all PEs have dropped their values of it, and this one is there.
        let base = unsafe { self.alloc.as_ref() }.base;
        Target::new(*self.alloc, base.as_ptr())
    }

    fn notice(&self, value: u64) -> Notice {
        Notice { word: self.word(), value, adds: K::ADDS }
    }

    /// Enqueues a wait: what is enqueued behind it on the job's stream runs when this PE's word compares so with `value`, and
    /// sees what was put before the signal. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Add, Cmp}};
    /// shmem::launch(2, |job| {
    ///     let arrived = job.create_signal(Add)?;
    ///     arrived.add(job.next(), 2)?;
    ///     arrived.wait_until(Cmp::Ge, 2)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`]. That a PE fails before it sends shows at the next wait.
    pub fn wait_until(&self, cmp: Cmp, value: u64) -> Result<(), Error> {
        let (engine, stream) = self.job.engine_and_stream();
        // SAFETY: the word lies in an allocation that this PE has not dropped.
        unsafe { engine.await_word(stream, self.word(), cmp, value) }
    }

    /// This PE's word, now. Waits for the stream, not for the signal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Set}};
    /// shmem::launch(1, |job| {
    ///     let signal = job.create_signal(Set)?;
    ///     signal.set(job.me(), 4)?;
    ///     Ok(assert_eq!(signal.fetch()?, 4))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// What made the stream fail, a failed PE too.
    pub fn fetch(&self) -> Result<u64, Error> {
        let (engine, stream) = self.job.engine_and_stream();
        // SAFETY: as for `wait_until`.
        unsafe { engine.fetch_word(stream, self.word()) }
    }
}

impl<S: StreamTag> Signal<'_, Set, S> {
    /// Enqueues that `pe`'s word is set to `value`, behind what this PE put there before. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Cmp, Set}};
    /// shmem::launch(2, |job| {
    ///     let ready = job.create_signal(Set)?;
    ///     ready.set(job.next(), 3)?;
    ///     ready.wait_until(Cmp::Eq, 3)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`].
    pub fn set(&self, pe: Pe<'_>, value: u64) -> Result<(), Error> {
        self.send(pe, value)
    }
}

impl<S: StreamTag> Signal<'_, Add, S> {
    /// Enqueues that `value` is added to `pe`'s word, behind what this PE put there before. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Add, Cmp}};
    /// shmem::launch(2, |job| {
    ///     let arrived = job.create_signal(Add)?;
    ///     job.iter().try_for_each(|pe| arrived.add(pe, 1))?;
    ///     arrived.wait_until(Cmp::Eq, 2)
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`].
    pub fn add(&self, pe: Pe<'_>, value: u64) -> Result<(), Error> {
        self.send(pe, value)
    }
}

impl<K: SignalKind, S: StreamTag> Signal<'_, K, S> {
    fn send(&self, pe: Pe<'_>, value: u64) -> Result<(), Error> {
        let (engine, stream) = self.job.engine_and_stream();
        // SAFETY: as for `wait_until`.
        unsafe { engine.notify(stream, Operation::Signal, None, self.notice(value), pe.world as usize) }
    }
}

/// Holds for neither kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not change in this way: one signal is either set or added to, for good",
    label = "the other kind of signal does this",
    note = "`job.create_signal(shmem::Set)?` makes one that is set, `job.create_signal(shmem::Add)?` one that is added to"
)]
pub trait OtherKind {}

// What the other kind can do and this cannot: each says so by a bound that never holds.
#[doc(hidden)]
#[allow(clippy::unused_self)]
impl<S: StreamTag> Signal<'_, Set, S> {
    pub fn add(&self, _: Pe<'_>, _: u64) -> Result<(), Error>
    where
        Self: OtherKind,
    {
        unreachable!("never `OtherKind`")
    }
}

#[doc(hidden)]
#[allow(clippy::unused_self)]
impl<S: StreamTag> Signal<'_, Add, S> {
    pub fn set(&self, _: Pe<'_>, _: u64) -> Result<(), Error>
    where
        Self: OtherKind,
    {
        unreachable!("never `OtherKind`")
    }
}

impl<K: SignalKind, S: StreamTag> Drop for Signal<'_, K, S> {
    fn drop(&mut self) {
        self.job.note_drop(Some(*self.alloc));
    }
}

impl<K: SignalKind, S: StreamTag> fmt::Debug for Signal<'_, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({})", if K::ADDS { "Add" } else { "Set" })
    }
}
