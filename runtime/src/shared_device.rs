//! Device memory that several streams read.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;

use crate::block::Place;
use crate::context::DeviceContext;
use crate::device_buffer::DeviceBuffer;
use crate::dtype::Init;
use crate::error::{Error, Fault, Operation};
use crate::operand::{CopyDst, SameElem, SameStream};
use crate::region::{Candidate, Escrowed, Region, Window};
use crate::span::DeviceSpan;
use crate::stream::not_on_worker;
use crate::tag::{Dyn, StreamTag};

/// Read-only device memory, readable on the stream of tag `S`. Other streams get handles of their own with
/// [`share_with`](SharedDeviceBuffer::share_with).
///
/// A dropped handle leaves the end of its reads behind; nobody writes or frees the memory before all of them.
///
/// ```
/// use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let other = ctx.fork()?;
/// let table = ctx.enqueue_create_buffer_zeroed::<f32>(4)?.into_shared()?;
/// let there = table.share_with(&other)?;
/// let copy = other.enqueue_create_buffer_from(&there)?;
/// drop(there);
/// let mut table = table.try_unshare()?; // writes come after the other stream's copy
/// table.enqueue_fill(1.0)?;
/// assert_eq!(copy.to_vec()?, [0.0; 4]);
/// # Ok(()) }
/// ```
///
/// Nobody writes it while it is shared:
///
/// ```compile_fail,E0599
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let table = ctx.enqueue_create_buffer_zeroed::<f32>(4)?.into_shared()?;
/// table.enqueue_fill(1.0)?; // another stream may be reading: `try_unshare` first
/// # Ok(()) }
/// ```
///
/// And each stream reads through a handle of its own:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Error, SharedDeviceBuffer};
/// escrow::streams! { Upload, Compute }
/// fn read(table: &SharedDeviceBuffer<f32, Upload>, dst: &mut DeviceBuffer<f32, Compute>) -> Result<(), Error> {
///     Ok(dst.enqueue_copy_from(table)?) // `table.share_with(dst.context())?` is the handle for it
/// }
/// ```
pub struct SharedDeviceBuffer<T, S: StreamTag = Dyn> {
    region: Escrowed<T, S>,
}

impl<T, S: StreamTag> SharedDeviceBuffer<T, S> {
    /// The first handle of a region that nothing else holds.
    pub(crate) fn first(region: Region<T, S>) -> Self {
        if let Some(block) = region.block() {
            block.add_handle();
        }
        SharedDeviceBuffer { region: Escrowed::new(region) }
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.region.candidate(Place::Device)
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// assert_eq!(table.len(), 3);
    /// # Ok(()) }
    /// ```
    pub fn len(&self) -> usize {
        self.region.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// assert!(!table.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context whose stream reads through this handle.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// let there = table.share_with(&ctx.fork()?)?;
    /// let copy = there.context().enqueue_create_buffer_from(&there)?;
    /// assert_eq!(copy.to_vec()?, [0; 3]);
    /// # Ok(()) }
    /// ```
    pub fn context(&self) -> &DeviceContext<S> {
        self.region.context()
    }

    /// All elements, to read on this handle's stream.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// assert_eq!(table.as_span().slice(1..)?.to_vec()?, [0, 0]);
    /// # Ok(()) }
    /// ```
    pub fn as_span(&self) -> DeviceSpan<'_, T, S> {
        DeviceSpan::new(Window::of(&self.region))
    }

    /// A handle for the stream of `to`, whose reads come after everything that this handle's stream has done. Does not
    /// block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, SharedDeviceBuffer};
    /// escrow::streams! { Compute }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let compute = ctx.fork_tagged(Compute)?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// let there: SharedDeviceBuffer<u8, Compute> = table.share_with(&compute)?;
    /// assert_eq!(there.to_vec()?, table.to_vec()?); // on two streams
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn share_with<S2: StreamTag>(&self, to: &DeviceContext<S2>) -> Result<SharedDeviceBuffer<T, S2>, Error> {
        not_on_worker(Operation::Share)?;
        if self.context().device() != to.device() {
            return Err(Error::WrongDevice { op: Operation::Share });
        }
        if !self.context().is_same_stream(to) {
            to.stream().wait_for(Operation::Share, self.context().stream().event()?)?;
        }
        Ok(SharedDeviceBuffer::first(self.region.share().on(to)))
    }

    /// Makes the memory writable again, if this is the last handle: this stream comes after the reads of all handles
    /// that there were. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error, Fault};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// let there = table.share_with(&ctx.fork()?)?;
    /// let Fault { error, value: table } = table.try_unshare().unwrap_err();
    /// assert!(matches!(error, Error::StillShared { holders: 2 }));
    /// drop(there);
    /// let mut dev = table.try_unshare()?;
    /// dev.enqueue_fill(1)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StillShared`] with the number of handles; the handle comes back.
    pub fn try_unshare(self) -> Result<DeviceBuffer<T, S>, Fault<Self>> {
        let edges = || {
            not_on_worker(Operation::Share)?;
            let Some(block) = self.region.block() else { return Ok(()) };
            match block.handles() {
                1 => {}
                holders => return Err(Error::StillShared { holders }),
            }
            // A handle ends in two steps, and memory that is freed in stream order is freed by the last count: one that
            // is on its way must not be it.
            match block.holders() {
                holders if block.is_freed_in_order() && holders > 1 => return Err(Error::StillShared { holders }),
                _ => {}
            }
            let stream = self.context().stream();
            block.with_ends(|ends| ends.iter().try_for_each(|end| stream.come_after(Operation::Share, end)))?;
            block.unshare();
            Ok(())
        };
        match edges() {
            Ok(()) => Ok(DeviceBuffer::from_region(self.into_region())),
            Err(error) => Err(Fault { error, value: self }),
        }
    }

    fn into_region(self) -> Region<T, S> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither dropped nor used again, so the region is moved out once.
        unsafe { ptr::read(&raw const this.region) }.into_region()
    }

    /// Enqueues a copy of all elements to `dst`. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// let host = table.enqueue_copy_to(ctx.create_host_buffer::<u8>(3)?)?;
    /// assert_eq!(ctx.synchronize(host)?[..], [0; 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceBuffer::enqueue_copy_to`].
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
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// let mut out = [1u8; 3];
    /// table.copy_to_slice(&mut out)?;
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

    /// A copy of all elements. Waits for the stream. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.enqueue_create_buffer_zeroed::<u8>(3)?.into_shared()?;
    /// assert_eq!(table.to_vec()?, [0; 3]);
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

impl<T, S: StreamTag> Drop for SharedDeviceBuffer<T, S> {
    fn drop(&mut self) {
        // The reads of this handle end at the stream's present tail. `region`, dropped next, parks its count of the
        // block there, so the last count goes when the last stream has passed its reads.
        if let Some(block) = self.region.block() {
            match self.context().stream().event() {
                Ok(end) => block.end_handle(end),
                // Where the reads end cannot be told, so nobody may write or free the memory any more.
                Err(_) => std::mem::forget(block.clone()),
            }
        }
    }
}

impl<T, S: StreamTag> fmt::Debug for SharedDeviceBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedDeviceBuffer<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}
