//! Symmetric memory while other PEs may read and write it.

use std::fmt;
use std::ops::{Index, IndexMut, RangeBounds};
use std::ptr::NonNull;

use super::buffer::ShmemBuffer;
use super::pe::{Bound, Kept};
use super::transport::Alloc;
use crate::block::Place;
use crate::dtype::{DType, Init};
use crate::error::{Error, Fault};
use crate::operand::{CopyDst, CopySrc};
use crate::region::{Candidate, Window};
use crate::span::DeviceSpanMut;
use crate::tag::{Dyn, StreamTag};

/// Symmetric memory that other PEs may read and write now: no accessors, until the job's
/// [`barrier_all`](crate::ShmemContext::barrier_all) ends the phase on all PEs and makes it local again.
///
/// ```
/// # use escrow::{Error, shmem};
/// let got = shmem::launch(2, |job| {
///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(4)?)?;
///     let mine = job.context().enqueue_create_buffer::<u32>(2)?.enqueue_fill(job.my_pe() as u32 + 1)?;
///     job.put(&mine, &open.slice(2..)?, job.next())?; // a part of the neighbour's copy
///     job.barrier_all(open)?.to_vec()
/// })?;
/// assert_eq!(got, [[0, 0, 2, 2], [0, 0, 1, 1]]);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Error, Exposed, ShmemBuffer};
/// fn look(open: &Exposed<ShmemBuffer<'_, f32>>) -> Result<Vec<f32>, Error> {
///     open.to_vec() // another PE may be writing it: `job.barrier_all(open)?` first
/// }
/// ```
#[must_use = "other PEs may be using this memory until a barrier takes this value"]
pub struct Exposed<B>(pub(super) B);

/// Symmetric memory that is this PE's own in this phase.
///
/// ```
/// # use escrow::{Error, Local, shmem};
/// fn own(_: &impl Local) {}
/// shmem::launch(1, |job| Ok(own(&job.create_buffer_zeroed::<f32>(1)?)))?;
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Exposed, Local, ShmemBuffer};
/// fn own(_: &impl Local) {}
/// fn user(open: &Exposed<ShmemBuffer<'_, f32>>) {
///     own(open)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "this buffer is exposed: other PEs may be reading or writing it",
    label = "exposed, not local",
    note = "`let buf = job.barrier_all(buf)?;` ends the phase on all PEs and makes it local again"
)]
pub trait Local: local::Sealed {}
mod local {
    #[diagnostic::on_unimplemented(
        message = "`Local` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}
impl<T, S: StreamTag> local::Sealed for ShmemBuffer<'_, T, S> {}
#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> Local for ShmemBuffer<'_, T, S> {}

impl<'job, T, S: StreamTag> Exposed<ShmemBuffer<'job, T, S>> {
    /// Number of elements on each PE.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.barrier_all(job.create_buffer_zeroed::<u8>(3)?)?.len(), 3)))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert!(!job.barrier_all(job.create_buffer_zeroed::<u8>(3)?)?.is_empty())))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All elements, as remote memory.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(4)?)?;
    ///     let (low, high) = open.as_span().split_at(2)?;
    ///     job.p(1, &low, 0, job.next())?;
    ///     job.p(2, &high, 0, job.next())?;
    ///     Ok(assert_eq!(job.barrier_all(open)?.to_vec()?, [1, 0, 2, 0]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_span(&self) -> ExposedSpan<'_, T, S> {
        ExposedSpan { bound: Bound::default(), window: self.0.window(), entry: Kept(self.0.entry()) }
    }

    /// A part, as remote memory.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(4)?)?;
    ///     assert_eq!(open.slice(1..3)?.len(), 2);
    ///     assert!(matches!(open.slice(1..5), Err(Error::Range { start: 1, end: 5, len: 4 })));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<ExposedSpan<'_, T, S>, Error> {
        self.as_span().slice(range)
    }

    /// The buffer as local memory, for programs that synchronize by signals and not by the barrier.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Cmp, Set}};
    /// let got = shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(1)?)?;
    ///     let ready = job.create_signal(Set)?;
    ///     let mine = job.context().enqueue_create_buffer::<u32>(1)?.enqueue_fill(job.my_pe() as u32)?;
    ///     job.put_signal(&mine, &open, job.next(), &ready, 1)?;
    ///     ready.wait_until(Cmp::Ge, 1)?;
    ///     // SAFETY: the one put into this copy has arrived before its signal, and no other follows.
    ///     let local = unsafe { open.assume_local() };
    ///     local.to_vec()
    /// })?;
    /// assert_eq!(got, [[1], [0]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    /// What other PEs do with this PE's copy from now on, until a barrier or `assume_exposed`, is nothing; what they did
    /// before is ordered before what this stream does next.
    pub unsafe fn assume_local(self) -> ShmemBuffer<'job, T, S> {
        self.0
    }
}

impl<T: Init, S: StreamTag> ShmemBuffer<'_, T, S> {
    /// The buffer as exposed memory, for programs that synchronize by signals and not by the barrier.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(1)?;
    ///     // SAFETY: there is no other PE.
    ///     let open = unsafe { table.assume_exposed() };
    ///     job.p(3, &open, 0, job.me())?;
    ///     // SAFETY: as above.
    ///     Ok(assert_eq!(unsafe { open.assume_local() }.to_vec()?, [3]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    /// What this PE does with other PEs' copies is ordered behind what they did with them as local memory, and before what
    /// they do with them as local memory again.
    pub unsafe fn assume_exposed(self) -> Exposed<Self> {
        Exposed(self)
    }
}

impl<T, S: StreamTag> fmt::Debug for Exposed<ShmemBuffer<'_, T, S>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exposed<ShmemBuffer<{}>>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}

/// Part of a buffer that is [`Exposed`]. Copying the value copies the reference, not the elements.
///
/// ```
/// # use escrow::{Error, shmem};
/// let got = shmem::launch(2, |job| {
///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(6)?)?;
///     for (at, part) in open.as_span().chunks(2)?.enumerate() {
///         job.p(at as u8 + 1, &part, 1, job.next())?; // the second element of each pair
///     }
///     job.barrier_all(open)?.to_vec()
/// })?;
/// assert_eq!(got, [[0, 1, 0, 2, 0, 3]; 2]);
/// # Ok::<(), Error>(())
/// ```
///
/// It ends before the barrier that makes the buffer local:
///
/// ```compile_fail,E0505
/// # use escrow::shmem;
/// # shmem::launch(1, |job| {
/// let open = job.barrier_all(job.create_buffer_zeroed::<u8>(6)?)?;
/// let part = open.as_span();
/// let mine = job.barrier_all(open)?;
/// job.p(1, &part, 0, job.next())?; // other PEs' memory is theirs again
/// # drop(mine);
/// # Ok(()) });
/// ```
pub struct ExposedSpan<'a, T, S: StreamTag = Dyn> {
    bound: Bound,
    window: Window<'a, T, S>,
    entry: Kept<Option<NonNull<Alloc>>>,
}

impl<T, S: StreamTag> Clone for ExposedSpan<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: StreamTag> Copy for ExposedSpan<'_, T, S> {}

impl<'a, T, S: StreamTag> ExposedSpan<'a, T, S> {
    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(3)?)?;
    ///     Ok(assert_eq!(open.slice(1..)?.len(), 2))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(3)?)?;
    ///     Ok(assert!(open.slice(3..)?.is_empty()))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part of the part.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(9)?)?;
    ///     Ok(assert_eq!(open.slice(1..)?.slice(..4)?.len(), 4))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        Ok(ExposedSpan { window: self.window.slice(&range)?, ..self })
    }

    /// The parts before and from `mid`.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(9)?)?;
    ///     let (low, high) = open.as_span().split_at(4)?;
    ///     Ok(assert_eq!((low.len(), high.len()), (4, 5)))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn split_at(self, mid: usize) -> Result<(Self, Self), Error> {
        let (low, high) = self.window.split_at(mid)?;
        let part = |window| ExposedSpan { window, ..self };
        Ok((part(low), part(high)))
    }

    /// Parts of `len` elements, the last one shorter if they do not fit.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(1, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(9)?)?;
    ///     Ok(assert!(open.as_span().chunks(4)?.map(|part| part.len()).eq([4, 4, 1])))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyChunk`].
    pub fn chunks(self, len: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, S>, Error> {
        Ok(self.window.chunks(len)?.map(move |window| ExposedSpan { window, ..self }))
    }
}

impl<T, S: StreamTag> fmt::Debug for ExposedSpan<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExposedSpan<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}

mod remote {
    #[diagnostic::on_unimplemented(
        message = "`Remote` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

/// Memory of another PE that this one may use now: `&Exposed<ShmemBuffer>`, or `&` of a part of one.
///
/// ```
/// # use escrow::{DeviceSpan, Dyn, Error, Remote, ShmemContext, shmem};
/// fn to_all(job: &ShmemContext, src: &DeviceSpan<'_, f32>, open: &impl Remote<Elem = f32, Tag = Dyn>) -> Result<(), Error> {
///     job.iter().try_for_each(|pe| job.put(src, open, pe))
/// }
/// shmem::launch(2, |job| {
///     let ones = job.context().enqueue_create_buffer::<f32>(2)?.enqueue_fill(1.0)?;
///     let open = job.barrier_all(job.create_buffer_zeroed::<f32>(4)?)?;
///     to_all(job, &ones.as_span(), &open.slice(1..3)?)?;
///     Ok(assert_eq!(job.barrier_all(open)?.to_vec()?, [0.0, 1.0, 1.0, 0.0]))
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// Plain device memory is not:
///
/// ```compile_fail,E0277
/// # use escrow::{DeviceBuffer, Error, ShmemContext};
/// fn send(job: &ShmemContext, src: &DeviceBuffer<f32>, to: &DeviceBuffer<f32>) -> Result<(), Error> {
///     job.put(src, to, job.next()) // the others do not know it: `job.create_buffer`
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "other PEs cannot reach `{Self}` in this phase",
    label = "not exposed symmetric memory",
    note = "a put or get needs an `Exposed<ShmemBuffer>` or a part of one: `let buf = job.barrier_all(buf)?;` exposes a `ShmemBuffer` on all PEs",
    note = "a `DeviceBuffer` is not symmetric and never can be: `job.create_buffer` makes memory that is"
)]
pub trait Remote: remote::Sealed {
    /// The element type.
    type Elem;
    /// The tag of the job's stream.
    type Tag;

    /// This PE's copy, which has the place of the others', and the allocation that it lies in.
    #[doc(hidden)]
    fn remote(&self) -> (Candidate<'_>, RemoteEntry);
}

/// An allocation; opaque outside of this crate.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct RemoteEntry(pub(crate) Option<NonNull<Alloc>>);

impl fmt::Debug for RemoteEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteEntry")
    }
}

impl<T, S: StreamTag> remote::Sealed for Exposed<ShmemBuffer<'_, T, S>> {}
#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> Remote for Exposed<ShmemBuffer<'_, T, S>> {
    type Elem = T;
    type Tag = S;
    #[inline]
    fn remote(&self) -> (Candidate<'_>, RemoteEntry) {
        (self.0.operand(), RemoteEntry(self.0.entry()))
    }
}

impl<T, S: StreamTag> remote::Sealed for ExposedSpan<'_, T, S> {}
#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> Remote for ExposedSpan<'_, T, S> {
    type Elem = T;
    type Tag = S;
    #[inline]
    fn remote(&self) -> (Candidate<'_>, RemoteEntry) {
        (self.window.candidate(Place::Device), RemoteEntry(*self.entry))
    }
}

// What local memory can do and this cannot: each says so by a bound that never holds.
#[doc(hidden)]
#[allow(clippy::missing_errors_doc, clippy::unused_self)]
impl<T, S: StreamTag> Exposed<ShmemBuffer<'_, T, S>>
where
    T: DType,
{
    pub fn as_span_mut(&mut self) -> DeviceSpanMut<'_, T, S>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
    pub fn to_vec(&self) -> Result<Vec<T>, Error>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
    pub fn copy_to_slice(&self, _: &mut [T]) -> Result<(), Error>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
    pub fn copy_from_slice(&mut self, _: &[T]) -> Result<(), Error>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
    pub fn enqueue_fill(&mut self, _: T) -> Result<(), Error>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
    pub fn enqueue_copy_to<D: CopyDst>(&self, _: D) -> Result<D::Out<S>, Fault<D::Out<S>>>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
    pub fn enqueue_copy_from<R: CopySrc>(&mut self, _: R) -> Result<R::Out<S>, Fault<R::Out<S>>>
    where
        Self: Local,
    {
        unreachable!("never `Local`")
    }
}

#[doc(hidden)]
impl<T, S: StreamTag, I> Index<I> for Exposed<ShmemBuffer<'_, T, S>>
where
    Self: Local,
{
    type Output = T;
    fn index(&self, _: I) -> &T {
        unreachable!("never `Local`")
    }
}

#[doc(hidden)]
impl<T, S: StreamTag, I> IndexMut<I> for Exposed<ShmemBuffer<'_, T, S>>
where
    Self: Local,
{
    fn index_mut(&mut self, _: I) -> &mut T {
        unreachable!("never `Local`")
    }
}
