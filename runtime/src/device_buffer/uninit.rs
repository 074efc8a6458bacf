//! Device memory that nothing has written yet.

use std::mem::MaybeUninit;

use super::DeviceBuffer;
use crate::copy;
use crate::dtype::DType;
use crate::error::{Fault, Operation};
use crate::operand::{CopySrc, SameElem, SameStream};
use crate::tag::StreamTag;

/// Memory that nothing has written: each of these writes all of it and returns it as `DeviceBuffer<T, S>`.
impl<T: DType, S: StreamTag> DeviceBuffer<MaybeUninit<T>, S> {
    /// Enqueues a copy of all elements of `src` into this buffer. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let raw = ctx.enqueue_create_buffer::<u8>(2)?;
    /// let (dev, host) = raw.enqueue_copy_from(ctx.create_host_buffer_from(&[1u8, 2])?)?; // written, in flight
    /// assert_eq!(dev.to_vec()?, ctx.synchronize(host)?[..]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length), [`Error::WrongStream`](crate::Error::WrongStream),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice); this buffer comes back as it was, a host
    /// buffer in flight with nothing pending.
    #[inline]
    pub fn enqueue_copy_from<R: CopySrc>(
        self,
        src: R,
    ) -> Result<R::With<DeviceBuffer<T, S>, S>, Fault<R::With<Self, S>>>
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
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer::<u64>(2)?.enqueue_fill(1 << 40)?; // readable from here on
    /// assert_eq!(dev.to_vec()?, [1 << 40; 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of the enqueue; the buffer comes back.
    #[inline]
    pub fn enqueue_fill(self, value: T) -> Result<DeviceBuffer<T, S>, Fault<Self>> {
        match copy::enqueue_fill(self.context(), self.operand(), value).result {
            Ok(()) => Ok(self.with_state()),
            Err(error) => Err(Fault { error, value: self }),
        }
    }

    /// Copies `src` into this buffer and waits for the stream. Lengths must be equal. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error, Fault};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let raw = ctx.enqueue_create_buffer::<u8>(2)?;
    /// let Fault { error, value: raw } = raw.copy_from_slice(&[1, 2, 3]).unwrap_err();
    /// assert!(matches!(error, Error::Length { dst: 2, src: 3, .. }));
    /// assert_eq!(raw.copy_from_slice(&[1, 2])?.to_vec()?, [1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`](crate::Error::Length), [`Error::StreamFailed`](crate::Error::StreamFailed); the buffer comes back.
    pub fn copy_from_slice(self, src: &[T]) -> Result<DeviceBuffer<T, S>, Fault<Self>> {
        let copied = self.context().scope_for(Operation::Copy, |s| {
            let src = s.lend(src);
            copy::enqueue::<T, S>(self.context(), self.operand(), src.operand(), None).result
        });
        match copied {
            Ok(()) => Ok(self.with_state()),
            Err(error) => Err(Fault { error, value: self }),
        }
    }

    /// Says that all of the memory has been written, by spans or by a kernel that does not say so.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut raw = ctx.enqueue_create_buffer::<u8>(4)?;
    /// let (mut low, mut high) = raw.as_span_mut().split_at(1)?;
    /// low.enqueue_fill(1)?;
    /// high.enqueue_fill(2)?;
    /// // SAFETY: the two fills write all elements, on this stream.
    /// let dev = unsafe { raw.assume_init() };
    /// assert_eq!(dev.to_vec()?, [1, 2, 2, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// Every element has been written by work that is ordered before what this stream does from now on.
    pub unsafe fn assume_init(self) -> DeviceBuffer<T, S> {
        self.with_state()
    }
}
