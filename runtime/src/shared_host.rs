//! Pinned host memory that nobody writes.

use std::fmt;
use std::ops::Deref;
use std::slice;

use crate::block::BlockRef;
use crate::context::DeviceContext;
use crate::dtype::DType;
use crate::dtype::print::print_list;
use crate::error::{Error, Fault};
use crate::host::HostBuffer;
use crate::region::{Candidate, Region};
use crate::tag::{Dyn, StreamTag};

/// Read-only pinned host memory with any number of handles. `&` of it is an upload source on any stream; the memory
/// stays until every stream that reads it has done so.
///
/// ```
/// use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let weights = ctx.create_host_buffer_from(&[1.0f32, 2.0])?.into_shared();
/// let other = weights.clone();
/// let dev = ctx.enqueue_create_buffer_from(&weights)?; // nothing to get back
/// assert_eq!(dev.to_vec()?, other[..]);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0594
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let mut weights = ctx.create_host_buffer::<f32>(8).unwrap().into_shared();
/// weights[0] = 1.0; // nobody writes shared memory
/// ```
pub struct SharedHostBuffer<T, S: StreamTag = Dyn> {
    region: Region<T, S>,
}

impl<T, S: StreamTag> SharedHostBuffer<T, S> {
    pub(crate) fn from_region(region: Region<T, S>) -> Self {
        SharedHostBuffer { region }
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        // SAFETY: the buffer was idle when it became shared, and shared memory is never written.
        unsafe { self.region.idle_candidate() }
    }

    pub(crate) fn block(&self) -> Option<&BlockRef> {
        self.region.block()
    }
}

impl<T: DType, S: StreamTag> SharedHostBuffer<T, S> {
    /// The context of the buffer that this was made of.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let shared = ctx.create_host_buffer_from(&[1u8])?.into_shared();
    /// assert_eq!(shared.context().device(), ctx.device());
    /// # Ok(()) }
    /// ```
    pub fn context(&self) -> &DeviceContext<S> {
        self.region.context()
    }

    /// All elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let shared = ctx.create_host_buffer_from(&[1u8, 2])?.into_shared();
    /// assert_eq!(shared.as_span(), shared.clone().as_span());
    /// # Ok(()) }
    /// ```
    pub fn as_span(&self) -> &[T] {
        self
    }

    /// A handle to a part of the memory, seen as elements of `U`. `offset` and `size` count elements of **`U`**, from
    /// the start of this handle's part.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let bytes = ctx.create_host_buffer_from(&[1u8, 0, 2, 0, 3, 0])?.into_shared();
    /// let words = bytes.create_sub_buffer::<u16>(1, 2)?;
    /// assert_eq!(words[..], [2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`] if the part does not lie in this one, [`Error::Layout`] if it is not aligned for `U`.
    pub fn create_sub_buffer<U: DType>(&self, offset: usize, size: usize) -> Result<SharedHostBuffer<U, S>, Error> {
        const { U::VALID };
        Ok(SharedHostBuffer { region: self.region.sub(offset, size)? })
    }

    /// Makes the memory writable again, if this is the last handle and no upload of it is pending. A handle to a part
    /// gives a buffer of that part.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error, Fault};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let shared = ctx.create_host_buffer_from(&[1u8, 2])?.into_shared();
    /// let other = shared.clone();
    /// let Fault { error, value: shared } = shared.try_unshare().unwrap_err();
    /// assert!(matches!(error, Error::StillShared { holders: 2 }));
    /// drop(other);
    /// let mut host = shared.try_unshare()?;
    /// host[0] = 3;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StillShared`]; the handle comes back. A wait on the streams that read it ends their holds.
    pub fn try_unshare(self) -> Result<HostBuffer<T, S>, Fault<Self>> {
        match self.block().map_or(1, BlockRef::holders) {
            1 => Ok(HostBuffer::from_region(self.region)),
            holders => Err(Fault { error: Error::StillShared { holders }, value: self }),
        }
    }
}

impl<T, S: StreamTag> Clone for SharedHostBuffer<T, S> {
    fn clone(&self) -> Self {
        SharedHostBuffer { region: self.region.share() }
    }
}

impl<T, S: StreamTag> Deref for SharedHostBuffer<T, S> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: initialised as for `HostBuffer`, and never written while a shared handle lives.
        unsafe { slice::from_raw_parts(self.region.address(), self.region.len()) }
    }
}

impl<'a, T, S: StreamTag> IntoIterator for &'a SharedHostBuffer<T, S> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As [`HostBuffer`]: `SharedHostBuffer([1.0, 2.0])`.
impl<T: DType, S: StreamTag> fmt::Display for SharedHostBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_list("SharedHostBuffer", self, f)
    }
}

impl<T: DType, S: StreamTag> fmt::Debug for SharedHostBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_list("SharedHostBuffer", self, f)
    }
}
