//! Device memory that several streams read.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr;

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
        self.region.candidate()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.region.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context whose stream reads through this handle.
    pub fn context(&self) -> &DeviceContext<S> {
        self.region.context()
    }

    /// All elements, to read on this handle's stream.
    pub fn as_span(&self) -> DeviceSpan<'_, T, S> {
        DeviceSpan::new(Window::of(&self.region))
    }

    /// A handle for the stream of `to`, whose reads come after everything that this handle's stream has done. Does not
    /// block.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn share_with<S2: StreamTag>(&self, to: &DeviceContext<S2>) -> Result<SharedDeviceBuffer<T, S2>, Error> {
        not_on_worker(Operation::Share)?;
        if self.context().device() != to.device() {
            return Err(Error::WrongDevice { op: Operation::Share });
        }
        to.stream().wait_for(Operation::Share, self.context().stream().event())?;
        Ok(SharedDeviceBuffer::first(self.region.share().on(to)))
    }

    /// Makes the memory writable again, if this is the last handle: this stream comes after the reads of all handles
    /// that there were. Does not block.
    ///
    /// # Errors
    /// [`Error::StillShared`]; the handle comes back.
    pub fn try_unshare(self) -> Result<DeviceBuffer<T, S>, Fault<Self>> {
        let edges = || {
            not_on_worker(Operation::Share)?;
            let Some(block) = self.region.block() else { return Ok(()) };
            match block.handles() {
                1 => {}
                holders => return Err(Error::StillShared { holders }),
            }
            let stream = self.context().stream();
            block.with_ends(|ends| ends.iter().try_for_each(|end| stream.come_after(Operation::Share, end.clone())))?;
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
            block.end_handle(self.context().stream().event());
        }
    }
}

impl<T, S: StreamTag> fmt::Debug for SharedDeviceBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedDeviceBuffer<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}
