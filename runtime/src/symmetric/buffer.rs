//! Symmetric memory while it is this PE's own.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

use super::context::ShmemContext;
use super::engine::Entry;
use super::pe::{Bound, Kept};
use crate::block::Place;
use crate::context::DeviceContext;
use crate::copy;
use crate::device_buffer::HostReadable;
use crate::dtype::{DType, Init};
use crate::error::{Error, Fault};
use crate::operand::{CopyDst, CopySrc, SameElem, SameStream};
use crate::pointer::DevicePtr;
use crate::region::{Candidate, Window};
use crate::shared_device::SharedDeviceBuffer;
use crate::span::{DeviceSpan, DeviceSpanMut};
use crate::tag::{Dyn, StreamTag};

/// Memory of the symmetric heap: each PE has a copy of the same length, and this is this PE's own to read and write.
///
/// It can do what a [`DeviceBuffer`](crate::DeviceBuffer) can, but for handoff, sharing and `take_ptr`: copies, fills,
/// kernels, spans. Other PEs reach it only while it is [`Exposed`](crate::Exposed); the job's
/// [`barrier_all`](ShmemContext::barrier_all) flips it from the one to the other on all PEs.
///
/// Dropped, it is queued: all PEs free it together when they create symmetric memory, [`reclaim`](ShmemContext::reclaim),
/// or end the job, whatever order each of them dropped in. The drop itself waits for nobody.
///
/// ```
/// use escrow::{Error, shmem};
/// shmem::launch(2, |job| {
///     let mut table = job.create_buffer_zeroed::<u32>(4)?;
///     table.as_span_mut().slice(1..3)?.enqueue_fill(7)?;
///     let host = table.enqueue_copy_to(job.context().create_host_buffer::<u32>(4)?)?;
///     assert_eq!(job.context().synchronize(host)?[..], [0, 7, 7, 0]);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// It is not remote memory while it is local:
///
/// ```compile_fail,E0277
/// # use escrow::{DeviceBuffer, Error, ShmemBuffer, ShmemContext};
/// fn send(job: &ShmemContext, src: &DeviceBuffer<f32>, to: &ShmemBuffer<'_, f32>) -> Result<(), Error> {
///     job.put(src, to, job.next()) // `let to = job.barrier_all(to)?;` first
/// }
/// ```
///
/// To a kernel it is a pointer:
///
/// ```
/// # use escrow::{DeviceLayout, ShmemBuffer};
/// assert_eq!(<ShmemBuffer<'_, f32> as DeviceLayout>::TYPE_NAME, "ShmemBuffer<f32>");
/// ```
///
/// Nor does it leave the job:
///
/// ```compile_fail,E0521
/// # use std::cell::RefCell;
/// # use escrow::{Error, ShmemBuffer, shmem};
/// thread_local! {
///     static KEPT: RefCell<Option<ShmemBuffer<'static, f32>>> = const { RefCell::new(None) };
/// }
/// shmem::launch(2, |job| {
///     KEPT.set(Some(job.create_buffer_zeroed(4)?)); // keep `to_vec()?`
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub struct ShmemBuffer<'job, T, S: StreamTag = Dyn> {
    bound: Bound,
    ptr: Kept<NonNull<T>>,
    len: usize,
    entry: Kept<Entry>,
    job: &'job ShmemContext<S>,
}

impl<'job, T, S: StreamTag> ShmemBuffer<'job, T, S> {
    /// The whole of an allocation of `len` elements, or of none.
    pub(super) fn new(job: &'job ShmemContext<S>, entry: Entry, len: usize) -> Self {
        // SAFETY: the entry lives until all PEs have dropped their values of it, this one first.
        let ptr = entry.map_or(NonNull::dangling(), |alloc| unsafe { alloc.as_ref() }.base.cast());
        ShmemBuffer { bound: Bound::default(), ptr: Kept(ptr), len, entry: Kept(entry), job }
    }

    /// What is left where a value was lost in a barrier that failed: no elements.
    pub(super) fn stand_in(job: &'job ShmemContext<S>) -> Self {
        ShmemBuffer::new(job, None, 0)
    }

    pub(super) fn entry(&self) -> Entry {
        *self.entry
    }

    pub(super) fn job(&self) -> &'job ShmemContext<S> {
        self.job
    }

    pub(super) fn window(&self) -> Window<'_, T, S> {
        Window::lent(*self.ptr, self.len, self.job.context())
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.window().candidate(Place::Device)
    }

    /// The same memory, written or unwritten.
    fn with_state<U>(self) -> ShmemBuffer<'job, U, S> {
        const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
        let this = ManuallyDrop::new(self);
        ShmemBuffer {
            bound: Bound::default(),
            ptr: Kept(this.ptr.cast()),
            len: this.len,
            entry: this.entry,
            job: this.job,
        }
    }

    /// Number of elements on each PE.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.create_buffer_zeroed::<u32>(3)?.len(), 3)))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert!(job.create_buffer_zeroed::<u32>(0)?.is_empty())))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context whose stream owns the memory: the job's.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(3)?;
    ///     let copy = table.context().enqueue_create_buffer_from(&table)?; // a plain device buffer
    ///     Ok(assert_eq!(copy.to_vec()?, [0; 3]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn context(&self) -> &'job DeviceContext<S> {
        self.job.context()
    }

    /// All elements, to read on the device.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(3)?;
    ///     Ok(assert_eq!(table.as_span().slice(1..)?.to_vec()?, [0; 2]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_span(&self) -> DeviceSpan<'_, T, S> {
        DeviceSpan::new(self.window())
    }

    /// All elements, to write on the device.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut table = job.create_buffer_zeroed::<u32>(3)?;
    ///     table.as_span_mut().slice(1..)?.enqueue_fill(5)?;
    ///     Ok(assert_eq!(table.to_vec()?, [0, 5, 5]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_span_mut(&mut self) -> DeviceSpanMut<'_, T, S> {
        // SAFETY: the window borrows the whole buffer mutably, and no other PE uses it in this phase.
        unsafe { DeviceSpanMut::new(self.window()) }
    }

    /// The pointer to this PE's copy; the buffer keeps the memory.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(3)?;
    ///     Ok(assert_eq!(table.unsafe_ptr().as_ptr().addr() % 64, 0))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unsafe_ptr(&self) -> DevicePtr<T> {
        DevicePtr::borrowed(self.ptr.as_ptr())
    }

    /// Enqueues a copy of all elements to `dst`. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(3)?;
    ///     let host = table.enqueue_copy_to(job.context().create_host_buffer::<u32>(3)?)?;
    ///     Ok(assert_eq!(job.context().synchronize(host)?[..], [0; 3]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceBuffer::enqueue_copy_to`](crate::DeviceBuffer::enqueue_copy_to).
    pub fn enqueue_copy_to<D: CopyDst>(&self, dst: D) -> Result<D::Out<S>, Fault<D::Out<S>>>
    where
        T: Init,
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        self.as_span().enqueue_copy_to(dst)
    }

    /// Copies all elements to `dst` and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut out = [1u32; 3];
    ///     job.create_buffer_zeroed::<u32>(3)?.copy_to_slice(&mut out)?;
    ///     Ok(assert_eq!(out, [0; 3]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`]; what made the stream fail, a failed PE too.
    pub fn copy_to_slice(&self, dst: &mut [T]) -> Result<(), Error>
    where
        T: Init,
    {
        self.as_span().copy_to_slice(dst)
    }

    /// Enqueues a copy of all elements to `dst`. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(3)?;
    ///     let mut out = [1u32; 3];
    ///     // SAFETY: `out` has three elements, and is left alone until the wait.
    ///     unsafe { table.enqueue_copy_to_ptr(out.as_mut_ptr()) }?;
    ///     job.context().synchronize(())?;
    ///     Ok(assert_eq!(out, [0; 3]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; nothing was enqueued.
    ///
    /// # Safety
    /// `dst` is valid for writes of `len` elements, and is left alone until a wait has covered the copy.
    pub unsafe fn enqueue_copy_to_ptr(&self, dst: *mut T) -> Result<(), Error>
    where
        T: Init,
    {
        // SAFETY: passed on to the caller.
        unsafe { copy::enqueue_raw(self.context(), self.operand(), dst, true, None) }.result
    }

    /// A copy of all elements. Waits for the stream. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.create_buffer_zeroed::<u32>(3)?.to_vec()?, [0; 3])))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// What made the stream fail, a failed PE too.
    pub fn to_vec(&self) -> Result<Vec<T>, Error>
    where
        T: Init,
    {
        self.as_span().to_vec()
    }
}

impl<'job, T: DType, S: StreamTag> ShmemBuffer<'job, T, S> {
    /// Enqueues a copy of all elements of `src` into this buffer. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut table = job.create_buffer_zeroed::<u32>(2)?;
    ///     let host = table.enqueue_copy_from(job.context().create_host_buffer_from(&[1u32, 2])?)?;
    ///     Ok(assert_eq!(table.to_vec()?, job.context().synchronize(host)?[..]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceBuffer::enqueue_copy_from`](crate::DeviceBuffer::enqueue_copy_from).
    pub fn enqueue_copy_from<R: CopySrc>(&mut self, src: R) -> Result<R::Out<S>, Fault<R::Out<S>>>
    where
        R::Elem: SameElem<T>,
        R::Tag: SameStream<S>,
    {
        self.as_span_mut().enqueue_copy_from(src)
    }

    /// Enqueues a fill with `value`, of any width. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut table = job.create_buffer_zeroed::<u32>(2)?;
    ///     table.enqueue_fill(3)?;
    ///     Ok(assert_eq!(table.to_vec()?, [3; 2]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue.
    pub fn enqueue_fill(&mut self, value: T) -> Result<(), Error> {
        self.as_span_mut().enqueue_fill(value)
    }

    /// Copies `src` into this buffer and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut table = job.create_buffer_zeroed::<u32>(2)?;
    ///     table.copy_from_slice(&[1, 2])?;
    ///     Ok(assert_eq!(table.to_vec()?, [1, 2]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`]; what made the stream fail, a failed PE too.
    pub fn copy_from_slice(&mut self, src: &[T]) -> Result<(), Error> {
        self.as_span_mut().copy_from_slice(src)
    }

    /// Enqueues a copy of `src` into all of this buffer. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut table = job.create_buffer_zeroed::<u32>(2)?;
    ///     let values = [1u32, 2];
    ///     // SAFETY: `values` has two elements, and lives until the wait of `to_vec`.
    ///     unsafe { table.enqueue_copy_from_ptr(values.as_ptr()) }?;
    ///     Ok(assert_eq!(table.to_vec()?, values))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; nothing was enqueued.
    ///
    /// # Safety
    /// `src` is valid for reads of `len` elements, and is not written until a wait has covered the copy.
    pub unsafe fn enqueue_copy_from_ptr(&mut self, src: *const T) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { copy::enqueue_raw(self.context(), self.operand(), src.cast_mut(), false, None) }.result
    }

    /// The buffer as memory that is still to be written, for kernels that write all of it as `out`.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer_zeroed::<u32>(2)?.into_uninit();
    ///     Ok(assert_eq!(table.enqueue_fill(1)?.to_vec()?, [1; 2]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn into_uninit(self) -> ShmemBuffer<'job, MaybeUninit<T>, S> {
        self.with_state()
    }
}

/// Memory that nothing has written: each of these writes all of it and returns it as `ShmemBuffer<T, S>`.
impl<'job, T: DType, S: StreamTag> ShmemBuffer<'job, MaybeUninit<T>, S> {
    /// Enqueues a copy of all elements of `src` into this buffer. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let values = job.context().create_host_buffer_from(&[1u8, 2])?;
    ///     let (table, values) = job.create_buffer::<u8>(2)?.enqueue_copy_from(values)?;
    ///     Ok(assert_eq!(table.to_vec()?, job.context().synchronize(values)?[..]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for the same method of [`DeviceBuffer`](crate::DeviceBuffer).
    pub fn enqueue_copy_from<R: CopySrc>(
        self,
        src: R,
    ) -> Result<R::With<ShmemBuffer<'job, T, S>, S>, Fault<R::With<Self, S>>>
    where
        R::Elem: SameElem<T>,
        R::Tag: SameStream<S>,
    {
        let done = copy::enqueue::<T, S>(self.context(), self.operand(), src.candidate(), src.count());
        let out = src.settle(self.context(), done.asked);
        match done.result {
            Ok(()) => Ok(R::with(self.with_state(), out)),
            Err(error) => Err(Fault { error, value: R::with(self, out) }),
        }
    }

    /// Enqueues a fill with `value`, of any width. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.create_buffer::<u64>(2)?.enqueue_fill(9)?.to_vec()?, [9; 2])))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; the buffer comes back.
    pub fn enqueue_fill(self, value: T) -> Result<ShmemBuffer<'job, T, S>, Fault<Self>> {
        match copy::enqueue_fill(self.context(), self.operand(), value).result {
            Ok(()) => Ok(self.with_state()),
            Err(error) => Err(Fault { error, value: self }),
        }
    }

    /// Copies `src` into this buffer and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let table = job.create_buffer::<u8>(2)?.copy_from_slice(&[1, 2])?;
    ///     Ok(assert_eq!(table.to_vec()?, [1, 2]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`]; what made the stream fail. The buffer comes back.
    pub fn copy_from_slice(mut self, src: &[T]) -> Result<ShmemBuffer<'job, T, S>, Fault<Self>> {
        let copied = self.context().scope(|s| Ok(self.as_span_mut().enqueue_copy_from(s.lend(src))?));
        match copied {
            Ok(()) => Ok(self.with_state()),
            Err(error) => Err(Fault { error, value: self }),
        }
    }

    /// The buffer as written memory.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let mut raw = job.create_buffer::<u8>(2)?;
    ///     raw.as_span_mut().enqueue_fill(4)?;
    ///     // SAFETY: the fill writes both elements.
    ///     let table = unsafe { raw.assume_init() };
    ///     Ok(assert_eq!(table.to_vec()?, [4, 4]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    /// Work that writes every element was enqueued on the job's stream.
    pub unsafe fn assume_init(self) -> ShmemBuffer<'job, T, S> {
        self.with_state()
    }
}

impl<T, S: StreamTag> Drop for ShmemBuffer<'_, T, S> {
    fn drop(&mut self) {
        self.job.note_drop(*self.entry);
    }
}

impl<T, S: StreamTag> fmt::Debug for ShmemBuffer<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShmemBuffer<{}>(len: {}, tag: {}, local)", std::any::type_name::<T>(), self.len, S::NAME)
    }
}

/// Holds for nothing.
#[diagnostic::on_unimplemented(
    message = "symmetric memory is its job's, on all PEs: it is neither given up, nor shared, nor moved to another stream",
    label = "stays with its job",
    note = "copy it into a device buffer, which can be: `let dev = job.context().enqueue_create_buffer_from(&buf)?;`",
    note = "`unsafe_ptr` tells the address, and the buffer keeps the memory"
)]
pub trait OfItsOwn {}

// What device buffers can do and this cannot: each says so by a bound that never holds.
#[doc(hidden)]
#[allow(clippy::needless_pass_by_value)]
impl<T, S: StreamTag> ShmemBuffer<'_, T, S> {
    pub fn take_ptr(self) -> DevicePtr<T>
    where
        Self: OfItsOwn,
    {
        unreachable!("never `OfItsOwn`")
    }
    pub fn into_shared(self) -> Result<SharedDeviceBuffer<T, S>, Fault<Self>>
    where
        Self: OfItsOwn,
    {
        unreachable!("never `OfItsOwn`")
    }
    pub fn reassign_ownership_to<S2: StreamTag>(self, _: &DeviceContext<S2>) -> Result<Self, Fault<Self>>
    where
        Self: OfItsOwn,
    {
        unreachable!("never `OfItsOwn`")
    }
}

// Never satisfied: they exist for the message.
#[doc(hidden)]
impl<T, S: StreamTag, I> Index<I> for ShmemBuffer<'_, T, S>
where
    Self: HostReadable,
{
    type Output = T;
    fn index(&self, _: I) -> &T {
        unreachable!("device memory is never `HostReadable`")
    }
}

#[doc(hidden)]
impl<T, S: StreamTag, I> IndexMut<I> for ShmemBuffer<'_, T, S>
where
    Self: HostReadable,
{
    fn index_mut(&mut self, _: I) -> &mut T {
        unreachable!("device memory is never `HostReadable`")
    }
}
