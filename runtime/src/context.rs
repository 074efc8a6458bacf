//! Contexts: one stream of execution on one device.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::block::Place;
use crate::copy;
use crate::device::Device;
use crate::device_buffer::DeviceBuffer;
use crate::dtype::{DType, Init};
use crate::error::{Error, Fault, Operation};
use crate::handoff::Handoff;
use crate::host::HostBuffer;
use crate::operand::{CopySrc, SameStream};
use crate::region::{Region, admit};
use crate::stream::{Stream, not_on_worker};
use crate::tag::{Dyn, StreamTag};
use crate::wait::{Flight, Recorded};

/// One stream of execution on one device. A clone is the same stream.
///
/// Operations of one context run in the order in which they were enqueued, and no call but those that say so waits for
/// them. Operations of different contexts run side by side; [`handoff`](DeviceContext::handoff) moves values between
/// them.
///
/// ```
/// use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::default_device()?)?;
/// let mut host = ctx.create_host_buffer::<f32>(4)?;
/// host.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// let (dev, host) = ctx.enqueue_create_buffer_from(host)?; // `host` is in flight: `host[0]` does not compile
/// let host = dev.enqueue_copy_to(host)?;                   // same stream, still in flight
/// let host = ctx.synchronize(host)?;                       // ours again
/// assert_eq!(host[3], 4.0);
/// # Ok(()) }
/// ```
///
/// A wait gives back what its own stream has. Anything else is a compile error where the tags differ, and
/// [`Error::WrongStream`] where they do not:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, Error, HostBuffer, InFlight};
/// escrow::streams! { Upload, Compute }
/// fn land(compute: &DeviceContext<Compute>, host: InFlight<HostBuffer<f32, Upload>>) -> Result<(), Error> {
///     compute.synchronize(host)?; // says nothing of `Upload`
///     Ok(())
/// }
/// ```
pub struct DeviceContext<S: StreamTag = Dyn> {
    stream: Arc<Stream>,
    tag: PhantomData<S>,
}

impl<S: StreamTag> Clone for DeviceContext<S> {
    fn clone(&self) -> Self {
        DeviceContext { stream: Arc::clone(&self.stream), tag: PhantomData }
    }
}

impl<S: StreamTag> fmt::Debug for DeviceContext<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceContext").field("device", self.device()).field("tag", &S::NAME).finish_non_exhaustive()
    }
}

// `new` fixes the tag, since a default type parameter does not drive inference.
impl DeviceContext<Dyn> {
    /// A new stream without a name.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, InFlight};
    /// # fn main() -> Result<(), escrow::Error> {
    /// let ctx = DeviceContext::new(Device::cpu())?;
    /// let same = ctx.clone();
    /// let filled = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(3)?;
    /// assert_eq!(same.synchronize(filled)?[..], [3, 3]); // a clone is the same stream
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Thread`] if the system has no thread for it, [`Error::Setting`] if an environment variable of the
    /// device cannot be used.
    pub fn new(device: Device) -> Result<Self, Error> {
        DeviceContext::tagged(Dyn, device)
    }
}

impl<S: StreamTag> DeviceContext<S> {
    /// A new stream with the name `tag`. Several streams may bear one name.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, HostBuffer};
    /// escrow::streams! { Upload }
    /// # fn main() -> Result<(), escrow::Error> {
    /// let up = DeviceContext::tagged(Upload, Device::cpu())?;
    /// let staging: HostBuffer<f32, Upload> = up.create_host_buffer(16)?;
    /// assert_eq!(staging.len(), 16);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceContext::new`].
    pub fn tagged(tag: S, device: Device) -> Result<Self, Error> {
        let _ = tag;
        Ok(DeviceContext { stream: Stream::new(device)?, tag: PhantomData })
    }

    /// Another stream on the same device, without a name.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let other = ctx.fork()?;
    /// assert_eq!(other.device(), ctx.device());
    /// let one = ctx.enqueue_create_buffer_zeroed::<u32>(4)?; // these two may run
    /// let two = other.enqueue_create_buffer_zeroed::<u32>(4)?; // side by side
    /// assert_eq!(one.to_vec()?, two.to_vec()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceContext::new`].
    pub fn fork(&self) -> Result<DeviceContext<Dyn>, Error> {
        self.fork_tagged(Dyn)
    }

    /// Another stream on the same device, with the name `tag`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer};
    /// escrow::streams! { Compute }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let compute = ctx.fork_tagged(Compute)?;
    /// let dev: DeviceBuffer<f32, Compute> = compute.enqueue_create_buffer_zeroed(4)?;
    /// assert_eq!(dev.context().device(), ctx.device());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceContext::new`].
    pub fn fork_tagged<S2: StreamTag>(&self, tag: S2) -> Result<DeviceContext<S2>, Error> {
        DeviceContext::tagged(tag, self.device().clone())
    }

    /// The device that this stream runs on.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// assert_eq!(*ctx.device(), Device::cpu());
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn of_stream(stream: Arc<Stream>) -> Self {
        DeviceContext { stream, tag: PhantomData }
    }

    #[inline]
    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    #[inline]
    pub(crate) fn is_same_stream<S2: StreamTag>(&self, other: &DeviceContext<S2>) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// This handle as one of `other`'s stream: itself where that is the same stream, so that chained operations touch
    /// no reference count.
    #[inline]
    pub(crate) fn into_same_or<S2: StreamTag>(self, other: &DeviceContext<S2>) -> DeviceContext<S2> {
        if self.is_same_stream(other) { DeviceContext { stream: self.stream, tag: PhantomData } } else { other.clone() }
    }

    /// Pinned host memory of `len` elements, yours to read and write. The contents are unspecified: zeros, or what an
    /// earlier buffer of this process left.
    ///
    /// Does not wait for the stream.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut host = ctx.create_host_buffer::<u16>(3)?;
    /// host.fill(7); // at once: nothing is pending on new memory
    /// assert_eq!(host[..], [7, 7, 7]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::TooLarge`].
    pub fn create_host_buffer<T: DType>(&self, len: usize) -> Result<HostBuffer<T, S>, Error> {
        const { T::VALID };
        not_on_worker(Operation::Create)?;
        Ok(HostBuffer::from_region(Region::new(self, Place::Host, len)?))
    }

    /// Pinned host memory with a copy of `src`, made before the call returns.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[1u8, 2, 3])?;
    /// assert_eq!(host.iter().sum::<u8>(), 6);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`create_host_buffer`](DeviceContext::create_host_buffer).
    pub fn create_host_buffer_from<T: DType>(&self, src: &[T]) -> Result<HostBuffer<T, S>, Error> {
        let mut host = self.create_host_buffer(src.len())?;
        host.copy_from_slice(src);
        Ok(host)
    }

    /// Device memory of `len` elements that nothing has written yet. Writing it as a whole gives it back as
    /// `DeviceBuffer<T, S>`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let raw = ctx.enqueue_create_buffer::<f32>(8)?; // DeviceBuffer<MaybeUninit<f32>>
    /// let ones = raw.enqueue_fill(1.0)?;              // DeviceBuffer<f32>
    /// assert_eq!(ones.to_vec()?, [1.0; 8]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::TooLarge`].
    pub fn enqueue_create_buffer<T: DType>(&self, len: usize) -> Result<DeviceBuffer<MaybeUninit<T>, S>, Error> {
        const { T::VALID };
        self.raw_buffer(len)
    }

    pub(crate) fn raw_buffer<E>(&self, len: usize) -> Result<DeviceBuffer<E, S>, Error> {
        not_on_worker(Operation::Create)?;
        Ok(DeviceBuffer::from_region(Region::new(self, Place::Device, len)?))
    }

    /// Device memory of `len` elements, filled with zeros on this stream. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<i64>(3)?;
    /// assert_eq!(dev.to_vec()?, [0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::TooLarge`].
    pub fn enqueue_create_buffer_zeroed<T: DType>(&self, len: usize) -> Result<DeviceBuffer<T, S>, Error> {
        // SAFETY: every bit pattern of a `DType` is valid, all zeros too.
        let zero = unsafe { std::mem::zeroed::<T>() };
        Ok(self.enqueue_create_buffer(len)?.enqueue_fill(zero)?)
    }

    /// Device memory with a copy of `src`: `(DeviceBuffer, InFlight<HostBuffer>)` for a host buffer that moves in,
    /// `DeviceBuffer` for device, shared or lent memory. It has as many elements as `src`. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[1u8, 2])?;
    /// let (first, host) = ctx.enqueue_create_buffer_from(host)?; // moved in: comes back in flight
    /// let second = ctx.enqueue_create_buffer_from(&first)?;      // borrowed: nothing to give back
    /// assert_eq!(second.to_vec()?, ctx.synchronize(host)?[..]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::WrongStream`], [`Error::WrongDevice`]; a host buffer comes back in the
    /// [`Fault`].
    pub fn enqueue_create_buffer_from<R: CopySrc>(
        &self,
        src: R,
    ) -> Result<R::With<DeviceBuffer<R::Elem, S>, S>, Fault<R::Out<S>>>
    where
        R::Elem: Init,
        R::Tag: SameStream<S>,
    {
        let mut asked = false;
        let made = admit(Operation::Copy, self.stream(), src.candidate())
            .and_then(|src| self.raw_buffer::<R::Elem>(src.len))
            .and_then(|dev| {
                let done = copy::enqueue::<R::Elem, S>(self, dev.operand(), src.candidate(), src.count());
                asked = done.asked;
                done.result.map(|()| dev)
            });
        let out = src.settle(self, asked);
        match made {
            Ok(dev) => Ok(R::with(dev, out)),
            Err(error) => Err(Fault { error, value: out }),
        }
    }

    /// Moves `values` from this stream to that of `to`, with one event edge for all of them: what `to` does with them
    /// from now on comes after what this stream did. Takes device buffers and in-flight host buffers, also in tuples,
    /// arrays, `Vec`s and `Option`s. To the same stream it costs nothing. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let compute = ctx.fork()?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
    /// let host = ctx.create_host_buffer::<f32>(4)?.enqueue_fill(2.0)?;
    /// let (mut dev, host) = ctx.handoff((dev, host), &compute)?; // one edge for both
    /// let host = dev.enqueue_copy_from(host)?;                   // on `compute`, behind the fill
    /// assert_eq!(compute.synchronize(host)?[..], dev.to_vec()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongStream`] if one of the values is on another stream, [`Error::WrongDevice`] if the two contexts
    /// have different devices; all values come back as they were.
    pub fn handoff<V: Handoff<S>, S2: StreamTag>(
        &self,
        values: V,
        to: &DeviceContext<S2>,
    ) -> Result<V::To<S2>, Fault<V>> {
        let edge = || {
            not_on_worker(Operation::Handoff)?;
            if self.device() != to.device() {
                return Err(Error::WrongDevice { op: Operation::Handoff });
            }
            if !values.is_on(self) {
                return Err(Error::WrongStream { op: Operation::Handoff });
            }
            if self.is_same_stream(to) || values.is_idle() {
                return Ok(()); // nothing to come after
            }
            to.stream.wait_for(Operation::Handoff, self.stream.event()?)
        };
        match edge() {
            // SAFETY: all values are on this stream (`is_on`), and `to` now comes after it, or nothing is pending on them.
            Ok(()) => Ok(unsafe { values.retag(to) }),
            Err(error) => Err(Fault { error, value: values }),
        }
    }

    /// Marks the point behind `values`, so that [`Recorded::wait`] waits for that point only and not for what is
    /// enqueued later. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let first = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(1)?;
    /// let first = ctx.record(first)?;
    /// let second = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(2)?;
    /// assert_eq!(first.wait()?[..], [1, 1]); // whether or not the second fill has run
    /// assert_eq!(ctx.synchronize(second)?[..], [2, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongStream`]; the values come back.
    pub fn record<V: Flight<S>>(&self, values: V) -> Result<Recorded<V, S>, Fault<V>> {
        if let Err(error) = not_on_worker(Operation::Record) {
            return Err(Fault { error, value: values });
        }
        if !values.is_on(self) {
            return Err(Fault { error: Error::WrongStream { op: Operation::Record }, value: values });
        }
        match self.stream.event() {
            Ok(event) => Ok(Recorded::new(values, event)),
            Err(error) => Err(Fault { error, value: values }),
        }
    }

    /// Waits until the stream has done all that was enqueued so far, and gives in-flight host memory back. Takes
    /// `InFlight` values, also in tuples, arrays, `Vec`s and `Option`s: all identities are compared first, then one wait
    /// serves all. Of `()`, an empty `Vec` or `None` it still waits. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let a = ctx.create_host_buffer::<u8>(1)?.enqueue_fill(1)?;
    /// let b = ctx.create_host_buffer::<u8>(1)?.enqueue_fill(2)?;
    /// let (a, b) = ctx.synchronize((a, b))?; // one wait for both
    /// assert_eq!(a[0] + b[0], 3);
    /// ctx.synchronize(())?; // nothing to give back, and waits all the same
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongStream`], nothing was waited for; [`Error::StreamFailed`] if the stream failed. Either way all
    /// values come back in flight.
    pub fn synchronize<V: Flight<S>>(&self, values: V) -> Result<V::Landed, Fault<V>> {
        if !values.is_on(self) {
            return Err(Fault { error: Error::WrongStream { op: Operation::Wait }, value: values });
        }
        if values.is_idle()
            && let Ok(()) = not_on_worker(Operation::Wait)
        {
            // SAFETY: no operation was enqueued on any of the values.
            return Ok(unsafe { values.land() });
        }
        match self.stream.synchronize(Operation::Wait) {
            // SAFETY: all values are on this stream (`is_on`), and it has just passed all that was enqueued.
            Ok(()) => Ok(unsafe { values.land() }),
            Err(error) => Err(Fault { error, value: values }),
        }
    }
}
