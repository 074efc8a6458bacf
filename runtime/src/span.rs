//! Borrowed parts of device memory.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::RangeBounds;

use crate::block::Place;
use crate::context::DeviceContext;
use crate::copy;
use crate::dtype::{DType, Init};
use crate::error::{Error, Fault, Operation};
use crate::operand::{CopyDst, CopySrc, SameElem, SameStream};
use crate::region::{Candidate, Window};
use crate::tag::{Dyn, StreamTag};

/// Part of device memory, to read on its stream. `Copy`.
///
/// While it lives its buffer cannot be written, moved or dropped:
///
/// ```compile_fail,E0502
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(8).unwrap();
/// let head = dev.as_span().slice(..4).unwrap();
/// dev.enqueue_fill(1.0).unwrap();
/// println!("{}", head.len());
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let head = dev.as_span().slice(..4)?;
/// assert_eq!(head.to_vec()?, [0.0; 4]); // the last use of `head`
/// dev.enqueue_fill(1.0)?;
/// # Ok(()) }
/// ```
///
/// Nor does it outlive the buffer:
///
/// ```compile_fail,E0515
/// # use escrow::{Device, DeviceContext, DeviceSpan, Error};
/// fn table(ctx: &DeviceContext) -> Result<DeviceSpan<'_, f32>, Error> {
///     let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
///     Ok(dev.as_span()) // return the buffer
/// }
/// ```
pub struct DeviceSpan<'a, T, S: StreamTag = Dyn> {
    window: Window<'a, T, S>,
}

impl<T, S: StreamTag> Clone for DeviceSpan<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: StreamTag> Copy for DeviceSpan<'_, T, S> {}

impl<'a, T, S: StreamTag> DeviceSpan<'a, T, S> {
    #[inline]
    pub(crate) fn new(window: Window<'a, T, S>) -> Self {
        DeviceSpan { window }
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'a> {
        self.window.candidate(Place::Device)
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// assert_eq!(dev.as_span().slice(1..3)?.len(), 2);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// assert!(dev.as_span().slice(5..)?.is_empty());
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
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let span = dev.as_span();
    /// let copy = span.context().enqueue_create_buffer_from(span)?;
    /// assert_eq!(copy.len(), 5);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn context(&self) -> &'a DeviceContext<S> {
        self.window.context()
    }

    /// The elements of `range`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// assert_eq!(dev.as_span().slice(1..)?.slice(..=1)?.len(), 2);
    /// assert!(matches!(dev.as_span().slice(4..6), Err(Error::Range { start: 4, end: 6, len: 5 })));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        Ok(DeviceSpan::new(self.window.slice(&range)?))
    }

    /// The elements before and from `mid`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let (low, high) = dev.as_span().split_at(2)?;
    /// assert_eq!((low.len(), high.len()), (2, 3));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn split_at(self, mid: usize) -> Result<(Self, Self), Error> {
        let (low, high) = self.window.split_at(mid)?;
        Ok((DeviceSpan::new(low), DeviceSpan::new(high)))
    }

    /// Spans of `len` elements, the last one shorter if they do not fit.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let lengths: Vec<_> = dev.as_span().chunks(2)?.map(|part| part.len()).collect();
    /// assert_eq!(lengths, [2, 2, 1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyChunk`] if `len` is 0.
    pub fn chunks(self, len: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, S>, Error> {
        Ok(self.window.chunks(len)?.map(DeviceSpan::new))
    }

    /// Enqueues a copy of all elements to `dst`. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let host = dev.as_span().slice(3..)?.enqueue_copy_to(ctx.create_host_buffer::<u32>(2)?)?;
    /// assert_eq!(ctx.synchronize(host)?[..], [0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongStream`], [`Error::WrongDevice`]; a host buffer that moved in comes back in
    /// flight with nothing pending.
    #[inline]
    pub fn enqueue_copy_to<D: CopyDst>(self, dst: D) -> Result<D::Out<S>, Fault<D::Out<S>>>
    where
        T: Init,
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        let done = copy::enqueue::<T, S>(self.context(), dst.candidate(), self.operand(), None);
        let value = dst.settle(self.context(), done.asked);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }

    /// Copies all elements to `dst` and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let mut out = [1u32; 4];
    /// dev.as_span().slice(..2)?.copy_to_slice(&mut out[1..3])?;
    /// assert_eq!(out, [1, 0, 0, 1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::StreamFailed`].
    pub fn copy_to_slice(self, dst: &mut [T]) -> Result<(), Error>
    where
        T: Init,
    {
        if dst.len() != self.len() {
            return Err(Error::Length { op: Operation::Copy, dst: dst.len(), src: self.len() });
        }
        self.context().scope_for(Operation::Copy, |s| {
            let to = dst.as_mut_ptr();
            // SAFETY: the slice has `len` elements (compared above), borrowed for longer than the scope, which waits
            // before it returns, whatever comes of the copy.
            unsafe { copy::enqueue_raw(self.context(), self.operand(), to, true, Some(s.landings())) }.result
        })
    }

    /// A copy of all elements. Waits for the stream. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let last = dev.as_span().slice(4..)?.to_vec()?; // one element, not five
    /// assert_eq!(last, [0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StreamFailed`].
    pub fn to_vec(self) -> Result<Vec<T>, Error>
    where
        T: Init,
    {
        let mut values = Vec::<T>::with_capacity(self.len());
        self.context().scope_for(Operation::Copy, |s| {
            let to = values.as_mut_ptr();
            // SAFETY: the vector has room for `len` elements and lies outside of the scope, which waits before it
            // returns, whatever comes of the copy.
            unsafe { copy::enqueue_raw(self.context(), self.operand(), to, true, Some(s.landings())) }.result
        })?;
        // SAFETY: the scope returned `Ok`, so the copy has written `len` elements, which the buffer had (`Init`).
        unsafe { values.set_len(self.len()) };
        Ok(values)
    }
}

impl<'a, T: DType, S: StreamTag> DeviceSpan<'a, T, S> {
    /// The same bytes as elements of `U`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer::<u32>(2)?.enqueue_fill(0x0102)?;
    /// assert_eq!(dev.as_span().view::<u16>()?.to_vec()?, [0x0102, 0, 0x0102, 0]); // little-endian
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Layout`] if the size is no multiple of `U`'s, or the address not aligned for it.
    pub fn view<U: DType>(self) -> Result<DeviceSpan<'a, U, S>, Error> {
        const { U::VALID };
        Ok(DeviceSpan::new(self.window.view()?))
    }
}

impl<'a, T: DType, S: StreamTag> DeviceSpan<'a, MaybeUninit<T>, S> {
    /// The same bytes as elements of `U` that nothing has written.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let raw = ctx.enqueue_create_buffer::<u32>(2)?;
    /// assert_eq!(raw.as_span().view::<u16>()?.len(), 4); // still `MaybeUninit`: nothing reads it
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Layout`] if the size is no multiple of `U`'s, or the address not aligned for it.
    pub fn view<U: DType>(self) -> Result<DeviceSpan<'a, MaybeUninit<U>, S>, Error> {
        const { U::VALID };
        Ok(DeviceSpan::new(self.window.view()?))
    }
}

impl<T, S: StreamTag> fmt::Debug for DeviceSpan<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSpan<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}

/// Part of device memory, to write on its stream. Not `Copy`: [`reborrow`](DeviceSpanMut::reborrow) it for a while, or
/// split it into parts that do not overlap.
///
/// ```compile_fail,E0499
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(8).unwrap();
/// let a = dev.as_span_mut();
/// let b = dev.as_span_mut(); // a second one of the same memory
/// println!("{} {}", a.len(), b.len());
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let (mut a, b) = dev.as_span_mut().split_at(4)?; // two that do not overlap
/// a.enqueue_copy_from(b.as_span())?;
/// assert_eq!((a.len(), b.len()), (4, 4));
/// # Ok(()) }
/// ```
pub struct DeviceSpanMut<'a, T, S: StreamTag = Dyn> {
    window: Window<'a, T, S>,
    exclusive: PhantomData<&'a mut [T]>,
}

impl<'a, T, S: StreamTag> DeviceSpanMut<'a, T, S> {
    /// # Safety
    /// The window's memory is borrowed mutably for `'a`, for this span alone.
    #[inline]
    pub(crate) unsafe fn new(window: Window<'a, T, S>) -> Self {
        DeviceSpanMut { window, exclusive: PhantomData }
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.window.candidate(Place::Device)
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// assert_eq!(dev.as_span_mut().slice(1..3)?.len(), 2);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// assert!(dev.as_span_mut().slice(5..)?.is_empty());
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
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let mut span = dev.as_span_mut();
    /// let ones = span.context().enqueue_create_buffer::<u32>(5)?.enqueue_fill(1)?;
    /// span.enqueue_copy_from(&ones)?;
    /// assert_eq!(dev.to_vec()?, [1; 5]);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn context(&self) -> &'a DeviceContext<S> {
        self.window.context()
    }

    /// The same span for a shorter time.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let mut span = dev.as_span_mut();
    /// span.reborrow().slice(..2)?.enqueue_fill(1)?; // `slice` takes the short one
    /// span.slice(2..)?.enqueue_fill(2)?;            // and this one the span itself
    /// assert_eq!(dev.to_vec()?, [1, 1, 2, 2, 2]);
    /// # Ok(()) }
    /// ```
    pub fn reborrow(&mut self) -> DeviceSpanMut<'_, T, S> {
        // SAFETY: `self` is borrowed mutably for the new span's life.
        unsafe { DeviceSpanMut::new(self.window) }
    }

    /// The same elements, to read.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let mut span = dev.as_span_mut();
    /// span.enqueue_fill(3)?;
    /// assert_eq!(span.as_span().to_vec()?, [3; 5]);
    /// # Ok(()) }
    /// ```
    pub fn as_span(&self) -> DeviceSpan<'_, T, S> {
        DeviceSpan::new(self.window)
    }

    /// The elements of `range`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// dev.as_span_mut().slice(1..=2)?.enqueue_fill(1)?;
    /// assert_eq!(dev.to_vec()?, [0, 1, 1, 0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        // SAFETY: `self` ends here, and a part of its memory is not more than it.
        Ok(unsafe { DeviceSpanMut::new(self.window.slice(&range)?) })
    }

    /// The elements before and from `mid`, as two spans.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let (mut low, high) = dev.as_span_mut().split_at(2)?;
    /// low.enqueue_fill(1)?;
    /// assert_eq!(high.as_span().to_vec()?, [0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn split_at(self, mid: usize) -> Result<(Self, Self), Error> {
        let (low, high) = self.window.split_at(mid)?;
        // SAFETY: `self` ends here, and the two parts do not overlap.
        Ok(unsafe { (DeviceSpanMut::new(low), DeviceSpanMut::new(high)) })
    }

    /// Spans of `len` elements, the last one shorter if they do not fit.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// for (i, mut part) in dev.as_span_mut().chunks(2)?.enumerate() {
    ///     part.enqueue_fill(i as u32)?;
    /// }
    /// assert_eq!(dev.to_vec()?, [0, 0, 1, 1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyChunk`] if `len` is 0.
    pub fn chunks(self, len: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, S>, Error> {
        // SAFETY: `self` ends here, and the parts do not overlap.
        Ok(self.window.chunks(len)?.map(|window| unsafe { DeviceSpanMut::new(window) }))
    }
}

impl<'a, T: DType, S: StreamTag> DeviceSpanMut<'a, T, S> {
    /// Enqueues a copy of all elements of `src` into this span. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// let host = ctx.create_host_buffer_from(&[7u32, 8])?;
    /// let host = dev.as_span_mut().slice(3..)?.enqueue_copy_from(host)?; // in flight
    /// assert_eq!(dev.to_vec()?, [0, 0, 0, 7, 8]);
    /// # drop(host);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongStream`], [`Error::WrongDevice`]; a host buffer that moved in comes back in
    /// flight with nothing pending.
    #[inline]
    pub fn enqueue_copy_from<R: CopySrc>(&mut self, src: R) -> Result<R::Out<S>, Fault<R::Out<S>>>
    where
        R::Elem: SameElem<T>,
        R::Tag: SameStream<S>,
    {
        let done = copy::enqueue::<T, S>(self.context(), self.operand(), src.candidate(), src.count());
        let value = src.settle(self.context(), done.asked);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }

    /// Enqueues a fill with `value`, of any width. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// dev.as_span_mut().slice(3..)?.enqueue_fill(4)?;
    /// assert_eq!(dev.to_vec()?, [0, 0, 0, 4, 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; nothing was enqueued.
    #[inline]
    pub fn enqueue_fill(&mut self, value: T) -> Result<(), Error> {
        copy::enqueue_fill(self.context(), self.operand(), value).result
    }

    /// Copies `src` into this span and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// dev.as_span_mut().slice(..2)?.copy_from_slice(&[1, 2])?;
    /// assert_eq!(dev.to_vec()?, [1, 2, 0, 0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::StreamFailed`].
    pub fn copy_from_slice(&mut self, src: &[T]) -> Result<(), Error> {
        self.context().scope_for(Operation::Copy, |s| Ok(self.enqueue_copy_from(s.lend(src))?))
    }

    /// The same bytes as elements of `U`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<[f32; 2]>(2)?;
    /// dev.as_span_mut().view::<f32>()?.slice(1..3)?.enqueue_fill(1.0)?;
    /// assert_eq!(dev.to_vec()?, [[0.0, 1.0], [1.0, 0.0]]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Layout`] if the size is no multiple of `U`'s, or the address not aligned for it.
    pub fn view<U: DType>(self) -> Result<DeviceSpanMut<'a, U, S>, Error> {
        const { U::VALID };
        // SAFETY: `self` ends here; the view is of the same memory.
        Ok(unsafe { DeviceSpanMut::new(self.window.view()?) })
    }
}

/// Memory that nothing has written. Writing a part of it proves nothing of the whole: the buffer stays
/// `DeviceBuffer<MaybeUninit<T>>` until `unsafe assume_init`.
impl<'a, T: DType, S: StreamTag> DeviceSpanMut<'a, MaybeUninit<T>, S> {
    /// Enqueues a copy of all elements of `src` into this span. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut raw = ctx.enqueue_create_buffer::<u32>(2)?;
    /// let ones = ctx.enqueue_create_buffer::<u32>(1)?.enqueue_fill(1)?;
    /// for mut part in raw.as_span_mut().chunks(1)? {
    ///     part.enqueue_copy_from(&ones)?;
    /// }
    /// // SAFETY: the chunks are all of the buffer.
    /// assert_eq!(unsafe { raw.assume_init() }.to_vec()?, [1, 1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongStream`], [`Error::WrongDevice`]; a host buffer that moved in comes back in
    /// flight with nothing pending.
    #[inline]
    pub fn enqueue_copy_from<R: CopySrc>(&mut self, src: R) -> Result<R::Out<S>, Fault<R::Out<S>>>
    where
        R::Elem: SameElem<T>,
        R::Tag: SameStream<S>,
    {
        self.reborrow().written().enqueue_copy_from(src)
    }

    /// Enqueues a fill with `value`, of any width. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut raw = ctx.enqueue_create_buffer::<u32>(2)?;
    /// raw.as_span_mut().enqueue_fill(6)?;
    /// // SAFETY: the fill has written both elements.
    /// assert_eq!(unsafe { raw.assume_init() }.to_vec()?, [6, 6]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; nothing was enqueued.
    #[inline]
    pub fn enqueue_fill(&mut self, value: T) -> Result<(), Error> {
        self.reborrow().written().enqueue_fill(value)
    }

    /// The same bytes as elements of `U` that nothing has written.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut raw = ctx.enqueue_create_buffer::<u32>(1)?;
    /// raw.as_span_mut().view::<u8>()?.enqueue_fill(1)?;
    /// // SAFETY: the fill has written all four bytes.
    /// assert_eq!(unsafe { raw.assume_init() }.to_vec()?, [0x0101_0101]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Layout`] if the size is no multiple of `U`'s, or the address not aligned for it.
    pub fn view<U: DType>(self) -> Result<DeviceSpanMut<'a, MaybeUninit<U>, S>, Error> {
        const { U::VALID };
        // SAFETY: `self` ends here; the view is of the same memory.
        Ok(unsafe { DeviceSpanMut::new(self.window.view()?) })
    }

    /// For operations that only write.
    #[inline]
    fn written(self) -> DeviceSpanMut<'a, T, S> {
        let window = self.window.view().expect("`MaybeUninit<T>` has the layout of `T`");
        // SAFETY: `self` ends here; the view is of the same memory.
        unsafe { DeviceSpanMut::new(window) }
    }
}

impl<T, S: StreamTag> fmt::Debug for DeviceSpanMut<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSpanMut<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}
