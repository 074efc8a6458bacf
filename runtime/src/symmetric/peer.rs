//! Another PE's memory, for kernels that reach it by loads and stores.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr::NonNull;

use super::buffer::ShmemBuffer;
use super::context::ShmemContext;
use super::exposed::Exposed;
use super::local::copy;
use super::pe::Pe;
use crate::block::Place;
use crate::context::DeviceContext;
use crate::dtype::DType;
use crate::error::{Error, Operation};
use crate::region::{Candidate, Window};
use crate::tag::{Dyn, StreamTag};

/// A PE's copy of exposed memory that this PE reaches by address: an argument of kernels, which read and write it in place.
///
/// It borrows the exposed buffer, so it ends with the phase. Other PEs may use the same elements at the same time; that gives
/// mixed values. The pointer is no argument of puts and gets, which take the exposed buffer and the PE.
///
/// ```
/// use escrow::{Error, KernelPeer, KernelSpan, PeerSpan, Share, shmem};
///
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     /// Writes `src` to another PE.
///     #[cpu(send)]
///     #[launch(cover(src))]
///     #[requires(src.len() == to.len())]
///     safe fn send(src: &[f32], to: PeerSpan<'_, f32>);
/// }
/// fn send(share: &mut Share<'_>, src: &[f32], to: KernelPeer<'_, f32>) {
///     for i in share.range() {
///         to.set(i, 2.0 * src[i]);
///     }
/// }
///
/// let got = shmem::launch(2, |job| {
///     let set = Set::load(job.context().device())?;
///     let mine = job.create_buffer::<f32>(4)?.enqueue_fill(job.my_pe() as f32 + 1.0)?;
///     let open = job.barrier_all(job.create_buffer_zeroed::<f32>(4)?)?;
///     if let Some(to) = job.peer(&open, job.next())? {
///         set.send(job.context(), &mine, to)?;
///     }
///     job.barrier_all(open)?.to_vec()
/// })?;
/// # if got.len() == 2 {
/// assert_eq!(got, [[4.0; 4], [2.0; 4]]);
/// # }
/// # Ok::<(), Error>(())
/// ```
///
/// It is for kernels; the operations of the job take what is exposed itself:
///
/// ```compile_fail,E0277
/// # use escrow::shmem;
/// # shmem::launch(1, |job| {
/// # let mine = job.create_buffer_zeroed::<f32>(4)?;
/// let open = job.barrier_all(job.create_buffer_zeroed::<f32>(4)?)?;
/// if let Some(there) = job.peer(&open, job.next())? {
///     job.put(&mine, &there, job.next())?; // `&open`
/// }
/// # Ok(()) });
/// ```
pub struct PeerSpan<'a, T, S: StreamTag = Dyn> {
    window: Window<'a, T, S>,
}

impl<T, S: StreamTag> Clone for PeerSpan<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: StreamTag> Copy for PeerSpan<'_, T, S> {}

impl<S: StreamTag> ShmemContext<S> {
    /// `pe`'s copy of exposed memory, if this PE reaches it by address: always on the engine `local`; on GPUs of one host, or of
    /// one `NVLink` domain; never on `openshmem`.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<f32>(4)?)?;
    ///     if let Some(there) = job.peer(&open, job.next())? {
    ///         assert_eq!(there.slice(1..)?.len(), 3);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongStream`], [`Error::PeFailed`].
    pub fn peer<'a, T>(
        &'a self,
        memory: &'a Exposed<ShmemBuffer<'_, T, S>>,
        pe: Pe<'_>,
    ) -> Result<Option<PeerSpan<'a, T, S>>, Error> {
        let (there, target) = self.admit_remote(Operation::Launch, memory)?;
        let (engine, _) = self.engine_and_stream();
        engine.check()?;
        let Some(target) = target else { return Ok(None) };
        // SAFETY: the target lies in an allocation that this PE has not dropped, and the PE is of the job.
        let address = unsafe { engine.peer(target, pe.world as usize) };
        let span = |ptr: NonNull<u8>| PeerSpan { window: Window::lent(ptr.cast(), there.len, self.context()) };
        Ok(address.and_then(NonNull::new).map(span))
    }
}

impl<'a, T, S: StreamTag> PeerSpan<'a, T, S> {
    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'a> {
        self.window.candidate(Place::Device)
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::PeerSpan;
    /// fn elements(there: &PeerSpan<'_, f32>) -> usize {
    ///     there.len()
    /// }
    /// ```
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::PeerSpan;
    /// fn nothing(there: &PeerSpan<'_, f32>) -> bool {
    ///     there.is_empty()
    /// }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context whose stream runs the kernels that take it: the job's.
    ///
    /// ```
    /// # use escrow::{DeviceContext, PeerSpan};
    /// fn stream<'a>(there: &PeerSpan<'a, f32>) -> &'a DeviceContext {
    ///     there.context()
    /// }
    /// ```
    pub fn context(&self) -> &'a DeviceContext<S> {
        self.window.context()
    }

    /// A part.
    ///
    /// ```
    /// # use escrow::{Error, PeerSpan};
    /// fn first_row<'a>(there: PeerSpan<'a, f32>, width: usize) -> Result<PeerSpan<'a, f32>, Error> {
    ///     there.slice(..width)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        Ok(PeerSpan { window: self.window.slice(&range)? })
    }
}

impl<T, S: StreamTag> fmt::Debug for PeerSpan<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerSpan<{}>(len: {}, tag: {})", std::any::type_name::<T>(), self.len(), S::NAME)
    }
}

/// What a Rust kernel body gets for a [`PeerSpan`]: another PE's elements, one at a time. Other PEs may use them too, so there
/// is no slice of them.
///
/// ```
/// # use escrow::{KernelPeer, Share};
/// fn halve(share: &mut Share<'_>, there: KernelPeer<'_, f32>) {
///     for i in share.range() {
///         there.set(i, there.get(i) / 2.0);
///     }
/// }
/// # let _ = halve;
/// ```
///
/// ```compile_fail,E0608
/// # use escrow::KernelPeer;
/// fn first(there: KernelPeer<'_, f32>) -> f32 {
///     there[0] // there is no slice to index: `there.get(0)`
/// }
/// ```
#[derive(Clone, Copy)]
pub struct KernelPeer<'k, T> {
    ptr: *mut T,
    len: usize,
    memory: PhantomData<&'k T>,
}

// SAFETY: elements are used by copies that other threads may make at the same time, one by one.
unsafe impl<T: Send> Send for KernelPeer<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for KernelPeer<'_, T> {}

impl<T: DType> KernelPeer<'_, T> {
    /// # Safety
    /// The memory is there for the life that the caller gives it, and all use it by copies between PEs alone.
    pub(crate) unsafe fn new(ptr: *mut T, len: usize) -> Self {
        KernelPeer { ptr, len, memory: PhantomData }
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::KernelPeer;
    /// fn elements(there: &KernelPeer<'_, f32>) -> usize {
    ///     there.len()
    /// }
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::KernelPeer;
    /// fn nothing(there: &KernelPeer<'_, f32>) -> bool {
    ///     there.is_empty()
    /// }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element as it is now. Panics where there is none, which fails the stream.
    ///
    /// ```
    /// # use escrow::KernelPeer;
    /// fn first(there: &KernelPeer<'_, f32>) -> f32 {
    ///     there.get(0)
    /// }
    /// ```
    pub fn get(&self, index: usize) -> T {
        assert!(index < self.len, "element {index} of a peer's {}", self.len);
        // SAFETY: every bit pattern of a `DType` is valid, all zeros too.
        let mut value = unsafe { std::mem::zeroed::<T>() };
        // SAFETY: the element lies in the memory (above), which is there (`new`).
        unsafe { copy::copy((&raw mut value).cast(), self.ptr.add(index).cast(), size_of::<T>()) };
        value
    }

    /// Writes the element. Panics where there is none, which fails the stream.
    ///
    /// ```
    /// # use escrow::KernelPeer;
    /// fn clear(there: &KernelPeer<'_, f32>) {
    ///     (0..there.len()).for_each(|i| there.set(i, 0.0));
    /// }
    /// ```
    pub fn set(&self, index: usize, value: T) {
        assert!(index < self.len, "element {index} of a peer's {}", self.len);
        // SAFETY: as for `get`.
        unsafe { copy::copy(self.ptr.add(index).cast(), (&raw const value).cast(), size_of::<T>()) };
    }
}

impl<T> fmt::Debug for KernelPeer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelPeer<{}>(len: {})", std::any::type_name::<T>(), self.len)
    }
}
