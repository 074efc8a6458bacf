//! Device memory that one stream owns.

use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ops::{Index, IndexMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::block::{BlockRef, Place};
use crate::context::DeviceContext;
use crate::copy;
use crate::dtype::{DType, Init};
use crate::error::{Error, Fault};
use crate::operand::{CopyDst, CopySrc, SameElem, SameStream};
use crate::pointer::DevicePtr;
use crate::region::{Candidate, Escrowed, Region, Window};
use crate::shared_device::SharedDeviceBuffer;
use crate::span::{DeviceSpan, DeviceSpanMut};
use crate::tag::{Dyn, StreamTag};

mod uninit;

/// Device memory, owned by the stream of tag `S`. `T` is an element type, or `MaybeUninit` of one while nothing has
/// written the memory.
///
/// Operations borrow it for the call only: its memory is freed in stream order, after every use. Another stream gets it
/// by [`handoff`](DeviceContext::handoff), or reads it through [`into_shared`](DeviceBuffer::into_shared). The host
/// cannot read it: copy it to a [`HostBuffer`](crate::HostBuffer), or to a slice with
/// [`copy_to_slice`](DeviceBuffer::copy_to_slice), which waits.
///
/// ```
/// use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
/// dev.as_span_mut().slice(1..3)?.enqueue_fill(7)?;
/// assert_eq!(dev.to_vec()?, [0, 7, 7, 0]);
/// # Ok(()) }
/// ```
///
/// What nothing has written cannot be read:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let raw = ctx.enqueue_create_buffer::<f32>(8).unwrap();
/// let values = raw.to_vec(); // never written
/// ```
///
/// The host does not read or write it in place:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let first = dev[0]; // `dev.to_vec()?[0]`, or copy it to a host buffer
/// # Ok(()) }
/// ```
///
/// Another stream gets all of it, under the value that the handoff returns:
///
/// ```compile_fail,E0382
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let other = ctx.fork()?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let there = ctx.handoff(dev, &other)?;
/// dev.enqueue_fill(1.0)?; // it is `there` now
/// # Ok(()) }
/// ```
pub struct DeviceBuffer<T, S: StreamTag = Dyn> {
    region: Escrowed<T, S>,
}

impl<T, S: StreamTag> DeviceBuffer<T, S> {
    #[inline]
    pub(crate) fn from_region(region: Region<T, S>) -> Self {
        DeviceBuffer { region: Escrowed::new(region) }
    }

    #[inline]
    pub(crate) fn into_region(self) -> Region<T, S> {
        self.region.into_region()
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.region.candidate(Place::Device)
    }

    pub(crate) fn block(&self) -> Option<&BlockRef> {
        self.region.block()
    }

    #[inline]
    fn with_state<U>(self) -> DeviceBuffer<U, S> {
        DeviceBuffer::from_region(self.into_region().cast())
    }

    /// Takes the buffer to the stream of `ctx`.
    ///
    /// # Safety
    /// `ctx`'s stream comes after everything that is pending on this memory.
    pub(crate) unsafe fn retag<S2: StreamTag>(self, ctx: &DeviceContext<S2>) -> DeviceBuffer<T, S2> {
        DeviceBuffer::from_region(self.into_region().on(ctx))
    }

    /// A buffer of no elements: no allocation, no device call. For `mem::replace` on struct fields.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// struct Stage { buf: DeviceBuffer<u8> }
    /// let mut stage = Stage { buf: ctx.enqueue_create_buffer_zeroed(4)? };
    /// let empty = DeviceBuffer::empty(&ctx);
    /// let taken = std::mem::replace(&mut stage.buf, empty);
    /// assert_eq!((taken.len(), stage.buf.len()), (4, 0));
    /// # Ok(()) }
    /// ```
    pub fn empty(ctx: &DeviceContext<S>) -> Self {
        DeviceBuffer::from_region(Region::empty(ctx.clone()))
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// assert_eq!(dev.len(), 3); // elements, not bytes
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.region.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// assert!(!dev.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context whose stream owns the memory.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// let like = dev.context().enqueue_create_buffer::<u32>(dev.len())?; // on the same stream
    /// let like = like.enqueue_copy_from(&dev)?;
    /// assert_eq!(like.to_vec()?, [0; 3]);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn context(&self) -> &DeviceContext<S> {
        self.region.context()
    }

    /// All elements, to read on the device.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// let head = ctx.enqueue_create_buffer_from(dev.as_span().slice(..2)?)?;
    /// dev.enqueue_fill(1)?; // no span lives; the copy comes first in stream order
    /// assert_eq!((head.to_vec()?, dev.to_vec()?), (vec![0; 2], vec![1; 3]));
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn as_span(&self) -> DeviceSpan<'_, T, S> {
        DeviceSpan::new(Window::of(&self.region))
    }

    /// All elements, to write on the device.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// let (mut low, mut high) = dev.as_span_mut().split_at(2)?;
    /// low.enqueue_fill(1)?;
    /// high.enqueue_fill(2)?;
    /// assert_eq!(dev.to_vec()?, [1, 1, 2, 2]);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn as_span_mut(&mut self) -> DeviceSpanMut<'_, T, S> {
        // SAFETY: the window borrows the whole buffer mutably.
        unsafe { DeviceSpanMut::new(Window::of(&self.region)) }
    }

    /// Moves the buffer to the stream of `ctx`, with an event edge: a [`handoff`](DeviceContext::handoff). Does not
    /// block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// escrow::streams! { Compute }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let compute = ctx.fork_tagged(Compute)?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u8>(4)?;
    /// let dev: DeviceBuffer<u8, Compute> = dev.reassign_ownership_to(&compute)?;
    /// assert_eq!(dev.to_vec()?, [0; 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; the buffer comes back.
    pub fn reassign_ownership_to<S2: StreamTag>(
        self,
        ctx: &DeviceContext<S2>,
    ) -> Result<DeviceBuffer<T, S2>, Fault<Self>> {
        let from = self.context().clone();
        from.handoff(self, ctx)
    }

    /// Lends the buffer to the stream of `ctx` for `f`, and takes it back after: an edge there, `f`, an edge back. For
    /// buffers in struct fields. Whatever `f` leaves in its place is what comes back, also when `f` fails or panics.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// escrow::streams! { Upload, Compute }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let up = DeviceContext::tagged(Upload, Device::cpu())?;
    /// # let compute = up.fork_tagged(Compute)?;
    /// struct Model { weights: DeviceBuffer<f32, Upload> }
    /// let mut model = Model { weights: up.enqueue_create_buffer_zeroed(16)? };
    /// model.weights.on(&compute, |w| w.enqueue_fill(1.0))?;
    /// assert_eq!(model.weights.to_vec()?, [1.0; 16]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of `f`. [`Error::WrongDevice`] if the devices differ (nothing ran), or if `f` left a buffer of another
    /// device: that one is dropped where it is and this one is empty.
    pub fn on<S2: StreamTag, R>(
        &mut self,
        ctx: &DeviceContext<S2>,
        f: impl FnOnce(&mut DeviceBuffer<T, S2>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let home = self.context().clone();
        let here = mem::replace(self, DeviceBuffer::empty(&home));
        let mut there = match home.handoff(here, ctx) {
            Ok(there) => there,
            Err(Fault { error, value }) => {
                *self = value;
                return Err(error);
            }
        };
        let done = catch_unwind(AssertUnwindSafe(|| f(&mut there)));
        // From the stream that the buffer names now, which need not be `ctx`'s: `f` may have swapped another one in.
        let back = there.reassign_ownership_to(&home).map(|here| *self = here);
        match done {
            Ok(Ok(value)) => back.map(|()| value).map_err(Error::from),
            Ok(Err(error)) => Err(error),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Gives up ownership and returns the pointer. Work that is pending on the memory goes on. The caller answers for
    /// the memory until [`from_ptr`](DeviceBuffer::from_ptr) takes it back.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let ptr = ctx.enqueue_create_buffer_zeroed::<u32>(3)?.take_ptr();
    /// // SAFETY: the one copy of the pointer; the fill with zeros is on the same stream.
    /// let dev = unsafe { DeviceBuffer::from_ptr(&ctx, ptr, 3) }?;
    /// assert_eq!(dev.to_vec()?, [0; 3]);
    /// # Ok(()) }
    /// ```
    pub fn take_ptr(self) -> DevicePtr<T> {
        let (ptr, _, block, _) = self.into_region().into_parts();
        DevicePtr::owning(ptr, block)
    }

    /// The pointer; the buffer keeps the memory.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// let (a, b) = (dev.unsafe_ptr(), dev.unsafe_ptr()); // no ownership: as many as you like
    /// assert_eq!(a.as_ptr(), b.as_ptr());
    /// # Ok(()) }
    /// ```
    pub fn unsafe_ptr(&self) -> DevicePtr<T> {
        DevicePtr::borrowed(self.region.address())
    }

    /// Takes back what [`take_ptr`](DeviceBuffer::take_ptr) gave up, as memory of `ctx`'s stream.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let other = ctx.fork()?;
    /// let ptr = ctx.enqueue_create_buffer_zeroed::<u32>(3)?.take_ptr();
    /// ctx.synchronize(())?;
    /// // SAFETY: the one copy of the pointer; the work on the memory is done, so `other` comes after it.
    /// let dev = unsafe { DeviceBuffer::from_ptr(&other, ptr, 3) }?;
    /// assert_eq!(dev.to_vec()?, [0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotTaken`] if the pointer is one of `unsafe_ptr`, [`Error::Length`] if `len` is not what the buffer had,
    /// [`Error::WrongDevice`]. The pointer owns the memory as before.
    ///
    /// # Safety
    /// No other copy of `ptr` is taken back, and all work on the memory is ordered before what `ctx`'s stream does from
    /// now on.
    pub unsafe fn from_ptr(ctx: &DeviceContext<S>, ptr: DevicePtr<T>, len: usize) -> Result<Self, Error> {
        // SAFETY: passed on to the caller.
        Ok(DeviceBuffer::from_region(unsafe { ptr.into_region(ctx, len) }?))
    }

    /// Makes the memory read-only and shared, so that other streams can read it at the same time. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<f32>(4)?.into_shared()?;
    /// let elsewhere = table.share_with(&ctx.fork()?)?;
    /// assert_eq!(elsewhere.to_vec()?, [0.0; 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The buffer comes back if the device has no event left to end the sharing with.
    pub fn into_shared(self) -> Result<SharedDeviceBuffer<T, S>, Fault<Self>>
    where
        T: Init,
    {
        Ok(SharedDeviceBuffer::first(self.into_region()))
    }

    /// Enqueues a copy of all elements to `dst`. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let dev = ctx.enqueue_create_buffer::<u32>(3)?.enqueue_fill(8)?;
    /// let mut copy = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// dev.enqueue_copy_to(&mut copy)?;                                      // borrowed: returns nothing
    /// let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u32>(3)?)?; // moved in: comes back in flight
    /// assert_eq!(ctx.synchronize(host)?[..], copy.to_vec()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongStream`], [`Error::WrongDevice`]; a host buffer that moved in comes back in
    /// flight with nothing pending.
    #[inline]
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
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// let mut out = [1u32; 3];
    /// dev.copy_to_slice(&mut out)?;
    /// assert_eq!(out, [0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::StreamFailed`].
    pub fn copy_to_slice(&self, dst: &mut [T]) -> Result<(), Error>
    where
        T: Init,
    {
        self.as_span().copy_to_slice(dst)
    }

    /// Enqueues a copy of all elements to `dst`. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// let mut out = [1u32; 3];
    /// // SAFETY: `out` has three elements, and is left alone until the wait.
    /// unsafe { dev.enqueue_copy_to_ptr(out.as_mut_ptr()) }?;
    /// ctx.synchronize(())?;
    /// assert_eq!(out, [0; 3]);
    /// # Ok(()) }
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
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
    /// assert_eq!(dev.to_vec()?, vec![0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StreamFailed`].
    pub fn to_vec(&self) -> Result<Vec<T>, Error>
    where
        T: Init,
    {
        self.as_span().to_vec()
    }
}

impl<T: DType, S: StreamTag> DeviceBuffer<T, S> {
    /// Enqueues a copy of all elements of `src` into this buffer. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let host = dev.enqueue_copy_from(ctx.create_host_buffer_from(&[1u8, 2])?)?; // in flight
    /// assert_eq!(dev.to_vec()?, [1, 2]);
    /// # drop(host);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`enqueue_copy_to`](DeviceBuffer::enqueue_copy_to).
    #[inline]
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
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<[f32; 3]>(2)?;
    /// dev.enqueue_fill([1.0, 2.0, 3.0])?; // 12 bytes wide
    /// assert_eq!(dev.to_vec()?, [[1.0, 2.0, 3.0]; 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; nothing was enqueued.
    #[inline]
    pub fn enqueue_fill(&mut self, value: T) -> Result<(), Error> {
        copy::enqueue_fill(self.context(), self.operand(), value).result
    }

    /// Copies `src` into this buffer and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// dev.copy_from_slice(&[1, 2])?; // the slice is free again when this returns
    /// assert_eq!(dev.to_vec()?, [1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::StreamFailed`].
    pub fn copy_from_slice(&mut self, src: &[T]) -> Result<(), Error> {
        self.as_span_mut().copy_from_slice(src)
    }

    /// Enqueues a copy of `len` elements from `src`. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// static TABLE: [u8; 2] = [3, 4];
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// // SAFETY: two elements that are never written or freed.
    /// unsafe { dev.enqueue_copy_from_ptr(TABLE.as_ptr()) }?;
    /// assert_eq!(dev.to_vec()?, TABLE);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; nothing was enqueued.
    ///
    /// # Safety
    /// `src` is valid for reads of `len` initialised elements, and is neither written nor freed until a wait has covered
    /// the copy.
    pub unsafe fn enqueue_copy_from_ptr(&mut self, src: *const T) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { copy::enqueue_raw(self.context(), self.operand(), src.cast_mut(), false, None) }.result
    }

    /// Forgets that the memory was written, so that it can be an `out` argument again.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// # use std::mem::MaybeUninit;
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let raw: DeviceBuffer<MaybeUninit<u8>> = dev.into_uninit(); // the same memory, to be written again
    /// assert_eq!(raw.enqueue_fill(3)?.to_vec()?, [3, 3]);
    /// # Ok(()) }
    /// ```
    pub fn into_uninit(self) -> DeviceBuffer<MaybeUninit<T>, S> {
        self.with_state()
    }
}

impl<T, S: StreamTag> fmt::Debug for DeviceBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}

/// Memory that the host can read. Device memory is not.
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(2)?;
/// dev[0] = 1.0; // not `HostReadable`
/// # Ok(()) }
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(2)?;
/// dev.as_span_mut().slice(..1)?.enqueue_fill(1.0)?;
/// assert_eq!(dev.to_vec()?, [1.0, 0.0]);
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "the host cannot read or write device memory directly",
    label = "device memory",
    note = "copy it to the host first: `let host = dev.enqueue_copy_to(host)?; let host = ctx.synchronize(host)?;`, or `dev.to_vec()?`, which waits"
)]
pub trait HostReadable {}

// Never satisfied: they exist for the message.
#[doc(hidden)]
impl<T, S: StreamTag, I> Index<I> for DeviceBuffer<T, S>
where
    DeviceBuffer<T, S>: HostReadable,
{
    type Output = T;
    fn index(&self, _: I) -> &T {
        unreachable!("device memory is never `HostReadable`")
    }
}

#[doc(hidden)]
impl<T, S: StreamTag, I> IndexMut<I> for DeviceBuffer<T, S>
where
    DeviceBuffer<T, S>: HostReadable,
{
    fn index_mut(&mut self, _: I) -> &mut T {
        unreachable!("device memory is never `HostReadable`")
    }
}
