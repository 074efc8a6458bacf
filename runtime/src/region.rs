//! Memory together with the stream that it belongs to, and the one door to its address.
//!
//! Every buffer and span keeps its pointer in a [`Region`] or a [`Window`]. Both hand it out as a [`Candidate`], which
//! is opaque; only [`admit`] turns that into an address, and only after it compared the streams. An operation that
//! forgets the comparison has no address to work on.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::block::{BlockRef, Place};
use crate::context::DeviceContext;
use crate::device::Device;
use crate::error::{Error, Operation};
use crate::landing::Landings;
use crate::stream::Stream;
use crate::tag::StreamTag;

/// Where an operand may be used.
#[derive(Clone, Copy)]
enum Home<'a> {
    /// On this stream only.
    Stream(&'a Arc<Stream>),
    /// On any stream that reaches host memory of this device: idle or shared host memory, on which nothing is pending
    /// that writes. `None` if there is no memory.
    HostOf(Option<&'a Device>),
}

/// An operand that has not been compared with the stream of its operation.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    home: Home<'a>,
    place: Place,
    ptr: NonNull<u8>,
    len: usize,
    /// Of memory lent to be written: where its scope notes what it copies there in the end.
    landings: Option<&'a Landings>,
}

impl<'a> Candidate<'a> {
    /// As the destination of a copy that the scope of `landings` waits for.
    #[inline]
    pub(crate) fn landing_in(self, landings: &'a Landings) -> Self {
        Candidate { landings: Some(landings), ..self }
    }

    #[inline]
    pub(crate) fn landings(&self) -> Option<&'a Landings> {
        self.landings
    }
}

impl std::fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Candidate(len: {})", self.len)
    }
}

/// Address and length of an operand that belongs to the stream it was admitted to.
#[derive(Clone, Copy)]
pub(crate) struct Admitted {
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))] // one memory is like the other to the CPU device
    pub(crate) place: Place,
    pub(crate) ptr: *mut u8,
    /// In elements.
    pub(crate) len: usize,
}

/// Compares an operand's stream with the one that the operation runs on: the only way to an operand's address.
#[inline(always)]
pub(crate) fn admit(op: Operation, on: &Arc<Stream>, operand: Candidate<'_>) -> Result<Admitted, Error> {
    let is_at_home = match operand.home {
        Home::Stream(home) => Arc::ptr_eq(home, on),
        Home::HostOf(device) => device.is_none_or(|device| device.shares_host_memory_with(on.device())),
    };
    if !is_at_home {
        return Err(not_at_home(op, on, operand.home));
    }
    Ok(Admitted { place: operand.place, ptr: operand.ptr.as_ptr(), len: operand.len })
}

#[cold]
fn not_at_home(op: Operation, on: &Stream, home: Home<'_>) -> Error {
    match home {
        Home::Stream(home) if home.device() == on.device() => Error::WrongStream { op },
        Home::Stream(_) | Home::HostOf(_) => Error::WrongDevice { op },
    }
}

/// Bytes of `len` elements.
#[inline]
pub(crate) fn byte_len<T>(len: usize) -> Result<usize, Error> {
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(bytes),
        _ => Err(Error::TooLarge { len, elem_size: size_of::<T>() }),
    }
}

/// `range` as start and end, if it lies in `0..len`.
pub(crate) fn resolve(range: &impl RangeBounds<usize>, len: usize) -> Result<(usize, usize), Error> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((start, end)),
        (start, end) => Err(Error::Range { start: start.unwrap_or(usize::MAX), end: end.unwrap_or(usize::MAX), len }),
    }
}

/// Elements of `U` that `bytes` bytes at `ptr` are, if size and alignment admit it.
pub(crate) fn view_len<U>(ptr: *const u8, bytes: usize) -> Result<usize, Error> {
    let misalign = if bytes == 0 { 0 } else { ptr.addr() % align_of::<U>() };
    if misalign != 0 || !bytes.is_multiple_of(size_of::<U>()) {
        return Err(Error::Layout {
            bytes,
            size: size_of::<U>() as u32,
            align: align_of::<U>() as u32,
            misalign: misalign as u32,
        });
    }
    Ok(bytes / size_of::<U>())
}

/// Owned memory: `len` elements in a block, and the stream they are on or were last on.
pub(crate) struct Region<T, S: StreamTag> {
    ptr: NonNull<T>,
    len: usize,
    /// One count of the block; `None` for memory of no length that was created so.
    block: Option<BlockRef>,
    ctx: DeviceContext<S>,
}

impl<T, S: StreamTag> Region<T, S> {
    /// New memory from the context's device; none for no elements.
    pub(crate) fn new(ctx: &DeviceContext<S>, place: Place, len: usize) -> Result<Self, Error> {
        let bytes = byte_len::<T>(len)?;
        if bytes == 0 {
            return Ok(Region::empty(ctx.clone()));
        }
        // Counted first: behind the allocation the processor would wait for what that has just written.
        let ctx = ctx.clone();
        let block = ctx.stream().allocate(place, bytes)?;
        Ok(Region { ptr: block.base().cast(), len, block: Some(block), ctx })
    }

    pub(crate) fn empty(ctx: DeviceContext<S>) -> Self {
        Region { ptr: NonNull::dangling(), len: 0, block: None, ctx }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn context(&self) -> &DeviceContext<S> {
        &self.ctx
    }

    pub(crate) fn block(&self) -> Option<&BlockRef> {
        self.block.as_ref()
    }

    /// As an operand that belongs to this region's stream.
    #[inline]
    pub(crate) fn candidate(&self, place: Place) -> Candidate<'_> {
        let home = Home::Stream(self.ctx.stream());
        Candidate { home, place, ptr: self.ptr.cast(), len: self.len, landings: None }
    }

    /// As an operand that joins any stream.
    ///
    /// # Safety
    /// Nothing that writes the memory is pending on any stream.
    #[inline]
    pub(crate) unsafe fn idle_candidate(&self) -> Candidate<'_> {
        let home = Home::HostOf(self.block.as_ref().map(BlockRef::device));
        Candidate { home, place: Place::Host, ptr: self.ptr.cast(), len: self.len, landings: None }
    }

    /// The same memory with a count of its own, for read-only sharing.
    pub(crate) fn share(&self) -> Self {
        Region { ptr: self.ptr, len: self.len, block: self.block.clone(), ctx: self.ctx.clone() }
    }

    /// The address, for the user's own hands (`unsafe_ptr`, host slices). Operations take [`admit`].
    pub(crate) fn address(&self) -> *mut T {
        self.ptr.as_ptr()
    }

    /// The same memory under another context. Makes no edge between the streams.
    #[inline]
    pub(crate) fn on<S2: StreamTag>(self, ctx: &DeviceContext<S2>) -> Region<T, S2> {
        let ctx = self.ctx.into_same_or(ctx);
        Region { ptr: self.ptr, len: self.len, block: self.block, ctx }
    }

    /// The same bytes as elements of another type of the same layout, such as `T` and `MaybeUninit<T>`.
    #[inline]
    pub(crate) fn cast<U>(self) -> Region<U, S> {
        const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
        Region { ptr: self.ptr.cast(), len: self.len, block: self.block, ctx: self.ctx }
    }

    /// Parts before and from `mid`, each with a count of the block.
    pub(crate) fn split_at(self, mid: usize) -> (Self, Self) {
        assert!(mid <= self.len, "the caller checked the range");
        // SAFETY: `mid <= len`, so the pointer stays in the block or one past its end.
        let high = unsafe { self.ptr.add(mid) };
        let tail = Region { ptr: high, len: self.len - mid, block: self.block.clone(), ctx: self.ctx.clone() };
        (Region { len: mid, ..self }, tail)
    }

    /// A part as elements of another type, with a count of its own. `offset` and `len` count elements of `U`.
    pub(crate) fn sub<U>(&self, offset: usize, len: usize) -> Result<Region<U, S>, Error> {
        let held = self.len * size_of::<T>();
        let whole = held / size_of::<U>();
        if offset.checked_add(len).is_none_or(|end| end > whole) {
            return Err(Error::Range { start: offset, end: offset.saturating_add(len), len: whole });
        }
        // SAFETY: `offset * size_of::<U>() <= held`, which the memory has.
        let ptr = unsafe { self.ptr.cast::<u8>().add(offset * size_of::<U>()) };
        view_len::<U>(ptr.as_ptr(), len * size_of::<U>())?;
        // A part of no bytes may lie at an address that is not aligned for `U`; a slice of it must not.
        let ptr = if ptr.cast::<U>().is_aligned() { ptr.cast() } else { NonNull::dangling() };
        Ok(Region { ptr, len, block: self.block.clone(), ctx: self.ctx.clone() })
    }

    /// Whether `next` starts where `self` ends, in the same block.
    pub(crate) fn meets(&self, next: &Self) -> bool {
        let same = match (&self.block, &next.block) {
            (Some(a), Some(b)) => a.same_block(b),
            (None, None) => true,
            _ => false,
        };
        same && self.ptr.as_ptr().wrapping_add(self.len) == next.ptr.as_ptr()
    }

    /// Takes in a region that [`Region::meets`] said lies behind this one.
    pub(crate) fn extend(&mut self, next: Self) {
        debug_assert!(self.meets(&next));
        let (_, len, _count, _) = next.into_parts(); // one count is enough for both
        self.len += len;
    }

    /// Whether this is all of its block and nothing else holds it.
    pub(crate) fn is_whole(&self) -> bool {
        self.block.as_ref().is_none_or(|block| {
            block.holders() == 1 && block.base() == self.ptr.cast() && block.used() == self.len * size_of::<T>()
        })
    }

    /// Gives up the count, for whoever takes it over.
    #[inline]
    pub(crate) fn into_parts(self) -> (NonNull<T>, usize, Option<BlockRef>, DeviceContext<S>) {
        (self.ptr, self.len, self.block, self.ctx)
    }

    /// Takes over a count.
    ///
    /// # Safety
    /// The elements lie in `block` (or there are none), and all pending work on them is ordered before `ctx`.
    pub(crate) unsafe fn from_parts(
        ptr: NonNull<T>,
        len: usize,
        block: Option<BlockRef>,
        ctx: DeviceContext<S>,
    ) -> Self {
        Region { ptr, len, block, ctx }
    }
}

// SAFETY: a region is the only way to its memory but for others that its counts answer for; elements move with it.
unsafe impl<T: Send, S: StreamTag> Send for Region<T, S> {}
// SAFETY: `&Region` gives out opaque candidates, and addresses that need `unsafe` to be used.
unsafe impl<T: Sync, S: StreamTag> Sync for Region<T, S> {}

/// A region that a stream may be using. Dropped, it is parked: kept until the stream has passed all that is enqueued.
pub(crate) struct Escrowed<T, S: StreamTag>(std::mem::ManuallyDrop<Region<T, S>>);

impl<T, S: StreamTag> Escrowed<T, S> {
    #[inline]
    pub(crate) fn new(region: Region<T, S>) -> Self {
        Escrowed(std::mem::ManuallyDrop::new(region))
    }

    /// The region as it is: the caller now answers for what is pending on it.
    #[inline]
    pub(crate) fn into_region(self) -> Region<T, S> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped or used again, so the region is taken once.
        unsafe { std::mem::ManuallyDrop::take(&mut this.0) }
    }
}

impl<T, S: StreamTag> std::ops::Deref for Escrowed<T, S> {
    type Target = Region<T, S>;
    #[inline]
    fn deref(&self) -> &Region<T, S> {
        &self.0
    }
}

impl<T, S: StreamTag> Drop for Escrowed<T, S> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the value is not used after its drop.
        let region = unsafe { std::mem::ManuallyDrop::take(&mut self.0) };
        let (_, _, block, ctx) = region.into_parts();
        if let Some(block) = block {
            ctx.stream().park(block);
        }
    }
}

/// Borrowed memory: part of a region, or a slice lent to a scope.
pub(crate) struct Window<'a, T, S: StreamTag> {
    ptr: NonNull<T>,
    len: usize,
    ctx: &'a DeviceContext<S>,
    memory: PhantomData<&'a [T]>,
}

impl<T, S: StreamTag> Clone for Window<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, S: StreamTag> Copy for Window<'_, T, S> {}

impl<'a, T, S: StreamTag> Window<'a, T, S> {
    #[inline]
    pub(crate) fn of(region: &'a Region<T, S>) -> Self {
        Window { ptr: region.ptr, len: region.len, ctx: &region.ctx, memory: PhantomData }
    }

    /// A slice that `ctx`'s stream may use for `'a`.
    pub(crate) fn lent(ptr: NonNull<T>, len: usize, ctx: &'a DeviceContext<S>) -> Self {
        Window { ptr, len, ctx, memory: PhantomData }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn context(&self) -> &'a DeviceContext<S> {
        self.ctx
    }

    #[inline]
    pub(crate) fn candidate(&self, place: Place) -> Candidate<'a> {
        let home = Home::Stream(self.ctx.stream());
        Candidate { home, place, ptr: self.ptr.cast(), len: self.len, landings: None }
    }

    pub(crate) fn slice(self, range: &impl RangeBounds<usize>) -> Result<Self, Error> {
        let (start, end) = resolve(range, self.len)?;
        // SAFETY: `start <= len` (`resolve`).
        Ok(Window { ptr: unsafe { self.ptr.add(start) }, len: end - start, ..self })
    }

    pub(crate) fn split_at(self, mid: usize) -> Result<(Self, Self), Error> {
        Ok((self.slice(&(..mid))?, self.slice(&(mid..))?))
    }

    /// Windows of `len` elements, the last one shorter if they do not fit.
    pub(crate) fn chunks(self, len: usize) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T, S>, Error> {
        if len == 0 {
            return Err(Error::EmptyChunk);
        }
        let count = self.len.div_ceil(len);
        Ok((0..count).map(move |i| {
            let start = i * len;
            // SAFETY: `i < count`, so `start < self.len`.
            Window { ptr: unsafe { self.ptr.add(start) }, len: len.min(self.len - start), ..self }
        }))
    }

    pub(crate) fn view<U>(self) -> Result<Window<'a, U, S>, Error> {
        let len = view_len::<U>(self.ptr.cast().as_ptr(), self.len * size_of::<T>())?;
        Ok(Window { ptr: self.ptr.cast(), len, ctx: self.ctx, memory: PhantomData })
    }
}

// SAFETY: a window is a shared borrow of a region: it can be where `&[T]` can be.
unsafe impl<T: Sync, S: StreamTag> Send for Window<'_, T, S> {}
// SAFETY: as above.
unsafe impl<T: Sync, S: StreamTag> Sync for Window<'_, T, S> {}
