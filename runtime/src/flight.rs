//! Host memory that a stream is using.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::block::Place;
use crate::context::DeviceContext;
use crate::copy;
use crate::dtype::DType;
use crate::error::Fault;
use crate::host::HostBuffer;
use crate::operand::{CopyDst, CopySrc, SameElem, SameStream};
use crate::region::{Candidate, Escrowed};
use crate::tag::StreamTag;

mod host_memory {
    #[diagnostic::on_unimplemented(
        message = "`HostMemory` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

/// Memory that can be in flight: [`HostBuffer`].
///
/// ```
/// # use escrow::{Device, DeviceContext, HostMemory, InFlight};
/// fn bytes<H: HostMemory>(flight: &InFlight<H>) -> usize {
///     flight.len() * size_of::<H::Elem>()
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flight = ctx.create_host_buffer::<u16>(3)?.enqueue_fill(1)?;
/// assert_eq!(bytes(&flight), 6);
/// # Ok(()) }
/// ```
///
/// Memory that is not pinned is never in flight:
///
/// ```compile_fail,E0277
/// # use escrow::InFlight;
/// fn wait(flight: InFlight<Vec<f32>>) {} // lend it in a `scope`, or copy it to a `HostBuffer`
/// ```
pub trait HostMemory: host_memory::Sealed + Send + 'static {
    /// The tag of the stream that uses it.
    type Tag: StreamTag;
    /// The element type.
    type Elem: DType;
}

impl<T: DType, S: StreamTag> host_memory::Sealed for HostBuffer<T, S> {}
impl<T: DType, S: StreamTag> HostMemory for HostBuffer<T, S> {
    type Tag = S;
    type Elem = T;
}

/// Host memory that a stream is using: nothing of it can be read or written until a wait gives it back.
///
/// It can go on as the operand of the next operation on the same stream. A wait takes it and returns the [`HostBuffer`]:
/// [`DeviceContext::synchronize`], [`Recorded::wait`](crate::Recorded::wait) or
/// [`synchronize`](InFlight::synchronize).
///
/// Dropped, its memory stays with the stream until that has passed all that was enqueued; the drop itself does not wait.
/// Forgotten, it leaks.
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let flight = ctx.create_host_buffer::<f32>(8).unwrap().enqueue_fill(1.0).unwrap();
/// let first = flight[0]; // this host memory is in flight
/// ```
///
/// Wait first:
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # let ctx = DeviceContext::new(Device::cpu()).unwrap();
/// let flight = ctx.create_host_buffer::<f32>(8).unwrap().enqueue_fill(1.0).unwrap();
/// let host = flight.synchronize().unwrap();
/// assert_eq!(host[0], 1.0);
/// ```
///
/// A wait gives each value back once:
///
/// ```compile_fail,E0382
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let flight = ctx.create_host_buffer::<f32>(8)?.enqueue_fill(1.0)?;
/// let host = ctx.synchronize(flight)?;
/// let again = ctx.synchronize(flight)?; // there is one of it
/// # Ok(()) }
/// ```
#[must_use = "the stream owns this memory until a wait takes this value: `ctx.synchronize(it)?`; dropping it gives the memory up"]
pub struct InFlight<H: HostMemory> {
    region: Escrowed<H::Elem, H::Tag>,
    memory: PhantomData<H>,
    state: State,
}

/// As large as a pointer: a value of whole words moves in whole words, while padding behind a byte makes the processor
/// wait at each move for the move before.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum State {
    /// No driver and no worker was ever asked to use the memory: it is here because a check refused the call, and a wait
    /// gives it back at once.
    Idle,
    Asked,
}

impl<T: DType, S: StreamTag> InFlight<HostBuffer<T, S>> {
    /// Host memory that an operation is about to use. Until one does, it is idle.
    #[inline]
    pub(crate) fn new(host: HostBuffer<T, S>) -> Self {
        InFlight { region: Escrowed::new(host.into_region()), memory: PhantomData, state: State::Idle }
    }

    /// Notes whether a driver or a worker was asked to use the memory.
    #[inline]
    pub(crate) fn after(mut self, asked: bool) -> Self {
        if asked {
            self.state = State::Asked;
        }
        self
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    #[inline]
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.region.candidate(Place::Host)
    }

    /// Moves the value to the stream of `ctx`.
    ///
    /// # Safety
    /// `ctx`'s stream comes after everything that is pending on this memory.
    pub(crate) unsafe fn retag<S2: StreamTag>(self, ctx: &DeviceContext<S2>) -> InFlight<HostBuffer<T, S2>> {
        let enqueued = !self.is_idle();
        InFlight::new(HostBuffer::from_region(self.region.into_region().on(ctx))).after(enqueued)
    }

    /// Gives the memory back to the host.
    ///
    /// # Safety
    /// Nothing is pending on it.
    pub(crate) unsafe fn land(self) -> HostBuffer<T, S> {
        HostBuffer::from_region(self.region.into_region())
    }

    /// As [`HostBuffer::enqueue_copy_to`]: behind what is pending on this memory, on the same stream. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let host = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(4)?;
    /// let host = host.enqueue_copy_to(&mut dev)?; // no wait between the two
    /// assert_eq!(dev.to_vec()?, ctx.synchronize(host)?[..]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`HostBuffer::enqueue_copy_to`].
    #[inline]
    pub fn enqueue_copy_to<D: CopyDst>(self, dst: D) -> Result<D::With<Self, S>, Fault<D::With<Self, S>>>
    where
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        let done = copy::enqueue::<T, S>(self.context(), dst.candidate(), self.operand(), None);
        let out = dst.settle(self.context(), done.asked);
        let value = D::with(self.after(done.asked), out);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }

    /// As [`HostBuffer::enqueue_copy_from`]: behind what is pending on this memory, on the same stream. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let host = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(4)?;
    /// let host = host.enqueue_copy_from(&dev)?; // writes over the fill
    /// assert_eq!(host.synchronize()?[..], [0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`HostBuffer::enqueue_copy_from`].
    #[inline]
    pub fn enqueue_copy_from<R: CopySrc>(self, src: R) -> Result<R::With<Self, S>, Fault<R::With<Self, S>>>
    where
        R::Elem: SameElem<T>,
        R::Tag: SameStream<S>,
    {
        let done = copy::enqueue::<T, S>(self.context(), self.operand(), src.candidate(), src.count());
        let out = src.settle(self.context(), done.asked);
        let value = R::with(self.after(done.asked), out);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }

    /// As [`HostBuffer::enqueue_fill`]: behind what is pending on this memory. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(1)?.enqueue_fill(2)?;
    /// assert_eq!(host.synchronize()?[..], [2, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`HostBuffer::enqueue_fill`].
    #[inline]
    pub fn enqueue_fill(self, value: T) -> Result<Self, Fault<Self>> {
        let done = copy::enqueue_fill(self.context(), self.operand(), value);
        let value = self.after(done.asked);
        match done.result {
            Ok(()) => Ok(value),
            Err(error) => Err(Fault { error, value }),
        }
    }

    /// Moves the memory to the stream of `ctx`, with an event edge: a [`handoff`](DeviceContext::handoff). Does not
    /// block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let other = ctx.fork()?;
    /// let host = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(1)?;
    /// let host = host.reassign_ownership_to(&other)?.enqueue_fill(2)?; // on `other`, behind the first fill
    /// assert_eq!(other.synchronize(host)?[..], [2, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice); the value comes back on its old stream.
    pub fn reassign_ownership_to<S2: StreamTag>(
        self,
        ctx: &DeviceContext<S2>,
    ) -> Result<InFlight<HostBuffer<T, S2>>, Fault<Self>> {
        let from = self.context().clone();
        from.handoff(self, ctx)
    }

    /// Waits for this memory's stream and gives the memory back. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<i32>(2)?.enqueue_fill(-1)?;
    /// assert_eq!(host.synchronize()?[..], [-1, -1]); // finds its stream by itself
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StreamFailed`](crate::Error::StreamFailed); the value comes back, still in flight.
    pub fn synchronize(self) -> Result<HostBuffer<T, S>, Fault<Self>> {
        let ctx = self.context().clone();
        ctx.synchronize(self)
    }
}

impl<H: HostMemory> InFlight<H> {
    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<u8>(3)?.enqueue_fill(0)?;
    /// assert_eq!(host.len(), 3); // no wait: the length is not in flight
    /// # drop(host);
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
    /// let host = ctx.create_host_buffer::<u8>(0)?.enqueue_fill(0)?;
    /// assert!(host.is_empty());
    /// # drop(host);
    /// # Ok(()) }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context whose stream uses the memory.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<u8>(3)?.enqueue_fill(7)?;
    /// let its = host.context().clone(); // a borrow could not live past the wait
    /// assert_eq!(its.synchronize(host)?[0], 7);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn context(&self) -> &DeviceContext<H::Tag> {
        self.region.context()
    }
}

impl<H: HostMemory> fmt::Debug for InFlight<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InFlight<{}>(len: {}, tag: {})", H::Elem::NAME, self.len(), H::Tag::NAME)
    }
}

/// Host memory that the host owns. [`InFlight`] is not.
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flight = ctx.create_host_buffer::<f32>(2)?.enqueue_fill(1.0)?;
/// let sum: f32 = flight.iter().sum(); // `InFlight` is not `OnHost`
/// # Ok(()) }
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flight = ctx.create_host_buffer::<f32>(2)?.enqueue_fill(1.0)?;
/// let sum: f32 = flight.synchronize()?.iter().sum();
/// assert_eq!(sum, 2.0);
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "this host memory is in flight: its stream may still be reading or writing it",
    label = "in flight, not readable or writable yet",
    note = "wait first: `let host = ctx.synchronize(host)?;` (or `host.synchronize()?`) gives it back"
)]
pub trait OnHost {}

// Never satisfied, since `InFlight` is not `OnHost`: these exist so that the compiler says "in flight" and not "no such
// method". The bound stands on each method, or the message would be the method's absence.
#[doc(hidden)]
impl<H: HostMemory, I> Index<I> for InFlight<H>
where
    InFlight<H>: OnHost,
{
    type Output = H::Elem;
    fn index(&self, _: I) -> &H::Elem {
        unreachable!("`InFlight` is never `OnHost`")
    }
}

#[doc(hidden)]
impl<H: HostMemory, I> IndexMut<I> for InFlight<H>
where
    InFlight<H>: OnHost,
{
    fn index_mut(&mut self, _: I) -> &mut H::Elem {
        unreachable!("`InFlight` is never `OnHost`")
    }
}

#[doc(hidden)]
impl<H: HostMemory> fmt::Display for InFlight<H>
where
    InFlight<H>: OnHost,
{
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        unreachable!("`InFlight` is never `OnHost`")
    }
}

#[doc(hidden)]
impl<H: HostMemory> IntoIterator for &InFlight<H>
where
    InFlight<H>: OnHost,
{
    type Item = H::Elem;
    type IntoIter = std::vec::IntoIter<H::Elem>;
    fn into_iter(self) -> Self::IntoIter {
        unreachable!("`InFlight` is never `OnHost`")
    }
}

macro_rules! not_in_flight {
    ($($name:ident($($arg:ident: $t:ty),*) -> $ret:ty, [$($this:tt)+];)+) => {
        #[doc(hidden)]
        #[allow(missing_docs, clippy::pedantic, unused_variables)]
        impl<H: HostMemory> InFlight<H> {
            $(pub fn $name($($this)+ $(, $arg: $t)*) -> $ret
            where
                Self: OnHost,
            {
                unreachable!("`InFlight` is never `OnHost`")
            })+
        }
    };
}

not_in_flight! {
    as_span() -> &[H::Elem], [&self];
    as_span_mut() -> &mut [H::Elem], [&mut self];
    as_slice() -> &[H::Elem], [&self];
    as_ptr() -> *const H::Elem, [&self];
    iter() -> std::slice::Iter<'_, H::Elem>, [&self];
    iter_mut() -> std::slice::IterMut<'_, H::Elem>, [&mut self];
    to_vec() -> Vec<H::Elem>, [&self];
    to_string() -> String, [&self];
    first() -> Option<&H::Elem>, [&self];
    last() -> Option<&H::Elem>, [&self];
    get(index: usize) -> Option<&H::Elem>, [&self];
    get_mut(index: usize) -> Option<&mut H::Elem>, [&mut self];
    fill(value: H::Elem) -> (), [&mut self];
    copy_from_slice(src: &[H::Elem]) -> (), [&mut self];
    swap(a: usize, b: usize) -> (), [&mut self];
    into_shared() -> (), [&self];
    into_split_at(mid: usize) -> (), [&self];
    into_chunks(len: usize) -> (), [&self];
    take_ptr() -> (), [&self];
    unsafe_ptr() -> (), [&self];
}
