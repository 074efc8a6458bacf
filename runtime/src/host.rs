//! Pinned host memory that the host owns.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;

use crate::context::DeviceContext;
use crate::copy;
use crate::dtype::DType;
use crate::dtype::print::print_list;
use crate::error::{Error, Fault};
use crate::flight::InFlight;
use crate::operand::{CopyDst, CopySrc, SameElem, SameStream};
use crate::pointer::HostPtr;
use crate::region::{Candidate, Region, view_len};
use crate::shared_host::SharedHostBuffer;
use crate::tag::{Dyn, StreamTag};

/// Pinned host memory, yours to read and write. It is a slice to you (`Deref<Target = [T]>`).
///
/// An asynchronous operation takes it by value and gives back [`InFlight`]; a wait turns that into a `HostBuffer` again.
/// It has no `Clone`: share it read-only with [`into_shared`](HostBuffer::into_shared).
///
/// Dropped, it goes back to its device's free list at once; nothing is pending on it.
///
/// ```
/// use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let mut host = ctx.create_host_buffer_from(&[1.5f32, 2.0])?;
/// host[0] += 1.0;
/// assert_eq!(host.to_string(), "HostBuffer([2.5, 2.0])");
/// # Ok(()) }
/// ```
///
/// After `take_ptr`, a handoff or any other call that takes it by value, it cannot be used:
///
/// ```compile_fail,E0382
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let host = ctx.create_host_buffer::<f32>(8).unwrap();
/// let flight = host.enqueue_fill(1.0).unwrap();
/// println!("{}", host[0]); // the stream may still be writing
/// # drop(flight);
/// ```
///
/// An asynchronous copy does not borrow it:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let mut host = ctx.create_host_buffer::<f32>(8)?;
/// dev.enqueue_copy_to(&mut host)?; // pass `host`: a borrow could end before the copy does
/// # Ok(()) }
/// ```
pub struct HostBuffer<T, S: StreamTag = Dyn> {
    region: Region<T, S>,
}

impl<T, S: StreamTag> HostBuffer<T, S> {
    #[inline]
    pub(crate) fn from_region(region: Region<T, S>) -> Self {
        HostBuffer { region }
    }

    pub(crate) fn region(&self) -> &Region<T, S> {
        &self.region
    }

    #[inline]
    pub(crate) fn into_region(self) -> Region<T, S> {
        self.region
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        // SAFETY: a `HostBuffer` is idle: it is made idle, and only a wait turns one in flight into one again.
        unsafe { self.region.idle_candidate() }
    }

    /// Gives the memory to the stream of `ctx`.
    #[inline]
    pub(crate) fn take_off<Q: StreamTag>(self, ctx: &DeviceContext<Q>) -> InFlight<HostBuffer<T, Q>>
    where
        T: DType,
    {
        InFlight::new(HostBuffer { region: self.region.on(ctx) })
    }
}

impl<T: DType, S: StreamTag> HostBuffer<T, S> {
    /// The context that the buffer was created on, or that it was last in flight on.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut host = ctx.create_host_buffer::<u8>(4)?;
    /// let dev = host.context().enqueue_create_buffer_zeroed::<u8>(4)?;
    /// dev.copy_to_slice(&mut host)?;
    /// assert_eq!(host[..], [0; 4]);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn context(&self) -> &DeviceContext<S> {
        self.region.context()
    }

    /// All elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[3u8, 4])?;
    /// assert_eq!(host.as_span(), [3, 4]);
    /// # Ok(()) }
    /// ```
    pub fn as_span(&self) -> &[T] {
        self
    }

    /// All elements, to write.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut host = ctx.create_host_buffer_from(&[3u8, 1, 2])?;
    /// host.as_span_mut().sort();
    /// assert_eq!(host[..], [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn as_span_mut(&mut self) -> &mut [T] {
        self
    }

    /// The same bytes as elements of `U`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[[1.0f32, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(host.view::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert!(matches!(host.view::<[f32; 3]>(), Err(Error::Layout { bytes: 16, size: 12, .. })));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Layout`] if the size is no multiple of `U`'s, or the address not aligned for it.
    pub fn view<U: DType>(&self) -> Result<&[U], Error> {
        const { U::VALID };
        let len = view_len::<U>(self.region.address().cast(), size_of_val(self.as_span()))?;
        if len == 0 {
            return Ok(&[]); // the address need not be aligned for `U`
        }
        // SAFETY: the bytes are this buffer's, initialised, borrowed with it; `view_len` checked size and alignment,
        // and every bit pattern is a valid `U` (`DType`).
        Ok(unsafe { slice::from_raw_parts(self.region.address().cast::<U>(), len) })
    }

    /// The same bytes as elements of `U`, to write.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut host = ctx.create_host_buffer_from(&[1.0f32, 2.0])?;
    /// host.view_mut::<u32>()?[0] |= 1 << 31; // the sign bit
    /// assert_eq!(host[..], [-1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`view`](HostBuffer::view).
    pub fn view_mut<U: DType>(&mut self) -> Result<&mut [U], Error> {
        let len = self.view::<U>()?.len();
        if len == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as in `view`, borrowed mutably; every `U` is a valid `T` (no padding, every bit pattern).
        Ok(unsafe { slice::from_raw_parts_mut(self.region.address().cast::<U>(), len) })
    }

    /// Enqueues a copy of all elements to `dst` on **this buffer's** stream. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let host = ctx.create_host_buffer_from(&[1u8, 2])?;
    /// let host = host.enqueue_copy_to(&mut dev)?; // `dev` stays, `host` is in flight
    /// assert_eq!(dev.to_vec()?, ctx.synchronize(host)?[..]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongStream`], [`Error::WrongDevice`]; everything that moved in comes back in flight
    /// with nothing pending.
    #[inline]
    pub fn enqueue_copy_to<D: CopyDst>(
        self,
        dst: D,
    ) -> Result<D::With<InFlight<Self>, S>, Fault<D::With<InFlight<Self>, S>>>
    where
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        self.into_flight().enqueue_copy_to(dst)
    }

    /// Enqueues a copy of all elements of `src` into this buffer on **this buffer's** stream. Lengths must be equal.
    /// Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dst = ctx.create_host_buffer::<u8>(2)?;
    /// let src = ctx.create_host_buffer_from(&[1u8, 2])?;
    /// let both = dst.enqueue_copy_from(src)?; // both moved in, so both come back
    /// let (dst, src) = ctx.synchronize(both)?;
    /// assert_eq!(dst[..], src[..]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`enqueue_copy_to`](HostBuffer::enqueue_copy_to).
    #[inline]
    pub fn enqueue_copy_from<R: CopySrc>(
        self,
        src: R,
    ) -> Result<R::With<InFlight<Self>, S>, Fault<R::With<InFlight<Self>, S>>>
    where
        R::Elem: SameElem<T>,
        R::Tag: SameStream<S>,
    {
        self.into_flight().enqueue_copy_from(src)
    }

    /// Enqueues a fill with `value` on this buffer's stream. Does not block. (`fill`, the slice method, writes at once.)
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<[u16; 3]>(2)?.enqueue_fill([1, 2, 3])?; // elements of any width
    /// assert_eq!(ctx.synchronize(host)?[1], [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The buffer comes back in flight with nothing pending.
    #[inline]
    pub fn enqueue_fill(self, value: T) -> Result<InFlight<Self>, Fault<InFlight<Self>>> {
        self.into_flight().enqueue_fill(value)
    }

    #[inline]
    fn into_flight(self) -> InFlight<Self> {
        InFlight::new(self)
    }

    /// Makes `ctx` the buffer's context. Free: nothing is pending on idle memory, so no event is needed.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, HostBuffer};
    /// escrow::streams! { Compute }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let compute = ctx.fork_tagged(Compute)?;
    /// let host: HostBuffer<u8, Compute> = ctx.create_host_buffer_from(&[1u8])?.reassign_ownership_to(&compute)?;
    /// assert_eq!(host.enqueue_fill(2)?.synchronize()?[..], [2]); // runs on `compute`
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// None on the devices there are now; the buffer would come back in the [`Fault`].
    pub fn reassign_ownership_to<S2: StreamTag>(
        self,
        ctx: &DeviceContext<S2>,
    ) -> Result<HostBuffer<T, S2>, Fault<Self>> {
        Ok(HostBuffer { region: self.region.on(ctx) })
    }

    /// Makes the memory read-only and shared: the handles can be cloned and are upload sources by `&` on any stream.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let table = ctx.create_host_buffer_from(&[1u8, 2])?.into_shared();
    /// let (a, b) = (ctx.enqueue_create_buffer_from(&table)?, ctx.fork()?.enqueue_create_buffer_from(&table)?);
    /// assert_eq!(a.to_vec()?, b.to_vec()?);
    /// # Ok(()) }
    /// ```
    pub fn into_shared(self) -> SharedHostBuffer<T, S> {
        SharedHostBuffer::from_region(self.region)
    }

    /// Gives up ownership and returns the pointer. The caller answers for the memory until
    /// [`from_ptr`](HostBuffer::from_ptr) takes it back.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, HostBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let ptr = ctx.create_host_buffer_from(&[1u8, 2])?.take_ptr()?; // `ptr` owns the memory now
    /// // SAFETY: two initialised elements, which nothing else uses.
    /// unsafe { ptr.as_ptr().add(1).write(9) };
    /// // SAFETY: the one copy of the pointer, and no work is pending on the memory.
    /// let host = unsafe { HostBuffer::from_ptr(&ctx, ptr, 2) }?;
    /// assert_eq!(host[..], [1, 9]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Piece`] for a piece of a larger block: `rejoin` all pieces first. The buffer comes back.
    pub fn take_ptr(self) -> Result<HostPtr<T>, Fault<Self>> {
        if !self.region.is_whole() {
            return Err(Fault { error: Error::Piece, value: self });
        }
        let (ptr, _, block, _) = self.region.into_parts();
        Ok(HostPtr::owning(ptr, block))
    }

    /// The pointer; the buffer keeps the memory.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[5u32])?;
    /// // SAFETY: `host` lives, and nothing writes it meanwhile.
    /// assert_eq!(unsafe { host.unsafe_ptr().as_ptr().read() }, 5);
    /// # Ok(()) }
    /// ```
    pub fn unsafe_ptr(&self) -> HostPtr<T> {
        HostPtr::borrowed(self.region.address())
    }

    /// Takes back what [`take_ptr`](HostBuffer::take_ptr) gave up, as memory of `ctx`'s stream.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error, HostBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<u8>(2)?;
    /// let lent = host.unsafe_ptr();
    /// // SAFETY: refused, since `host` still owns the memory.
    /// assert!(matches!(unsafe { HostBuffer::from_ptr(&ctx, lent, 2) }, Err(Error::NotTaken)));
    /// let taken = host.take_ptr()?;
    /// // SAFETY: this copy alone is taken back; of the wrong length it is refused and still owns the memory.
    /// assert!(matches!(unsafe { HostBuffer::from_ptr(&ctx, taken, 3) }, Err(Error::Length { dst: 3, src: 2, .. })));
    /// // SAFETY: as above, with the right length.
    /// assert_eq!(unsafe { HostBuffer::from_ptr(&ctx, taken, 2) }?.len(), 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotTaken`] if the pointer is one of `unsafe_ptr`, [`Error::Length`] if `len` is not what the buffer
    /// had, [`Error::WrongDevice`]. The pointer owns the memory as before.
    ///
    /// # Safety
    /// No other copy of `ptr` is taken back, nothing else uses the memory from now on, and all work on it is done.
    pub unsafe fn from_ptr(ctx: &DeviceContext<S>, ptr: HostPtr<T>, len: usize) -> Result<Self, Error> {
        // SAFETY: passed on to the caller.
        Ok(HostBuffer { region: unsafe { ptr.into_region(ctx, len) }? })
    }

    /// Enqueues a copy of all elements to `dst`. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[1u8, 2])?;
    /// let mut out = [0u8; 2];
    /// // SAFETY: `out` has two elements, and is left alone until the wait.
    /// let host = unsafe { host.enqueue_copy_to_ptr(out.as_mut_ptr()) }?;
    /// ctx.synchronize(host)?;
    /// assert_eq!(out, [1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The buffer comes back in flight.
    ///
    /// # Safety
    /// `dst` is valid for writes of `len` elements, does not overlap this buffer, and is left alone until a wait has
    /// covered the copy.
    pub unsafe fn enqueue_copy_to_ptr(self, dst: *mut T) -> Result<InFlight<Self>, Fault<InFlight<Self>>> {
        let flight = self.into_flight();
        // SAFETY: passed on to the caller.
        let done = unsafe { copy::enqueue_raw(flight.context(), flight.operand(), dst, true, None) };
        let value = flight.after(done.asked);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }

    /// Enqueues a copy of `len` elements from `src`. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// static TABLE: [u8; 2] = [3, 4];
    /// let host = ctx.create_host_buffer::<u8>(2)?;
    /// // SAFETY: two elements that are never written or freed.
    /// let host = unsafe { host.enqueue_copy_from_ptr(TABLE.as_ptr()) }?;
    /// assert_eq!(ctx.synchronize(host)?[..], TABLE);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The buffer comes back in flight.
    ///
    /// # Safety
    /// `src` is valid for reads of `len` initialised elements, does not overlap this buffer, and is not written or
    /// freed until a wait has covered the copy.
    pub unsafe fn enqueue_copy_from_ptr(self, src: *const T) -> Result<InFlight<Self>, Fault<InFlight<Self>>> {
        let flight = self.into_flight();
        // SAFETY: passed on to the caller.
        let done = unsafe { copy::enqueue_raw(flight.context(), flight.operand(), src.cast_mut(), false, None) };
        let value = flight.after(done.asked);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }
}

impl<T, S: StreamTag> Deref for HostBuffer<T, S> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: a block's bytes are initialised from the start and every bit pattern is a valid element (only
        // `DType` buffers are made); the buffer is idle, so nobody else writes.
        unsafe { slice::from_raw_parts(self.region.address(), self.region.len()) }
    }
}

impl<T, S: StreamTag> DerefMut for HostBuffer<T, S> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` is the only access: pieces of one block do not overlap.
        unsafe { slice::from_raw_parts_mut(self.region.address(), self.region.len()) }
    }
}

impl<'a, T, S: StreamTag> IntoIterator for &'a HostBuffer<T, S> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T, S: StreamTag> IntoIterator for &'a mut HostBuffer<T, S> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// As Mojo prints it: `HostBuffer([1.0, 2.0])`, from 1000 elements on only the first and the last three.
impl<T: DType, S: StreamTag> fmt::Display for HostBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_list("HostBuffer", self, f)
    }
}

impl<T: DType, S: StreamTag> fmt::Debug for HostBuffer<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_list("HostBuffer", self, f)
    }
}
