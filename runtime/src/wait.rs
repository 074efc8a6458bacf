//! Waits: what they take, and what they give back.

use std::fmt;

use crate::context::DeviceContext;
use crate::dtype::DType;
use crate::error::{Error, Fault, Operation};
use crate::flight::InFlight;
use crate::host::HostBuffer;
use crate::stream::{Event, not_on_worker};
use crate::tag::{Dyn, StreamTag};

mod flight {
    #[diagnostic::on_unimplemented(
        message = "`Flight` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed<S> {}
}

/// Values that a wait on a stream of tag `S` gives back: `InFlight` host buffers, and tuples, arrays, `Vec`s and
/// `Option`s of them. Only values that exist already, so nothing is enqueued while they are looked at.
///
/// ```
/// # use escrow::{Device, DeviceContext, Dyn, Error, Flight};
/// fn finish<V: Flight<Dyn>>(ctx: &DeviceContext, values: V) -> Result<V::Landed, Error> {
///     Ok(ctx.synchronize(values)?)
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let parts = [ctx.create_host_buffer::<u8>(1)?.enqueue_fill(1)?, ctx.create_host_buffer(1)?.enqueue_fill(2)?];
/// let [a, b] = finish(&ctx, parts)?;
/// assert_eq!(a[0] + b[0], 3);
/// # Ok(()) }
/// ```
///
/// Device memory needs no wait:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let dev = ctx.synchronize(dev)?; // the host could not use it anyway: `ctx.synchronize(())`
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a wait on stream `{S}` does not give back `{Self}`",
    label = "not in flight on stream `{S}`",
    note = "wait on the stream that uses it (`it.synchronize()?` always finds the right one), or `handoff` it to `{S}` first",
    note = "a `HostBuffer` that is not in flight is yours already, device buffers need no wait, and for lent memory the scope waits"
)]
pub trait Flight<S: StreamTag>: flight::Sealed<S> + Sized {
    /// The same values, the host's again.
    type Landed;

    #[doc(hidden)]
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool;
    /// Whether there are values and no operation was enqueued on any of them.
    #[doc(hidden)]
    fn is_idle(&self) -> bool;

    /// # Safety
    /// All values are on one stream, and it has passed everything that is pending on them.
    #[doc(hidden)]
    unsafe fn land(self) -> Self::Landed;
}

impl<T: DType, S: StreamTag> flight::Sealed<S> for InFlight<HostBuffer<T, S>> {}
#[diagnostic::do_not_recommend]
impl<T: DType, S: StreamTag> Flight<S> for InFlight<HostBuffer<T, S>> {
    type Landed = HostBuffer<T, S>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.context().is_same_stream(ctx)
    }
    fn is_idle(&self) -> bool {
        InFlight::is_idle(self)
    }
    unsafe fn land(self) -> HostBuffer<T, S> {
        // SAFETY: passed on to the caller.
        unsafe { InFlight::land(self) }
    }
}

impl<S: StreamTag> flight::Sealed<S> for () {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag> Flight<S> for () {
    type Landed = ();
    fn is_on(&self, _: &DeviceContext<S>) -> bool {
        true
    }
    fn is_idle(&self) -> bool {
        false
    }
    unsafe fn land(self) {}
}

impl<S: StreamTag, V: Flight<S>> flight::Sealed<S> for Vec<V> {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Flight<S>> Flight<S> for Vec<V> {
    type Landed = Vec<V::Landed>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.iter().all(|value| value.is_on(ctx))
    }
    fn is_idle(&self) -> bool {
        self.iter().len() > 0 && self.iter().all(V::is_idle)
    }
    unsafe fn land(self) -> Vec<V::Landed> {
        // SAFETY: passed on to the caller.
        self.into_iter().map(|value| unsafe { value.land() }).collect()
    }
}

impl<S: StreamTag, V: Flight<S>> flight::Sealed<S> for Option<V> {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Flight<S>> Flight<S> for Option<V> {
    type Landed = Option<V::Landed>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.iter().all(|value| value.is_on(ctx))
    }
    fn is_idle(&self) -> bool {
        self.iter().len() > 0 && self.iter().all(V::is_idle)
    }
    unsafe fn land(self) -> Option<V::Landed> {
        // SAFETY: passed on to the caller.
        self.map(|value| unsafe { value.land() })
    }
}

impl<S: StreamTag, V: Flight<S>, const N: usize> flight::Sealed<S> for [V; N] {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Flight<S>, const N: usize> Flight<S> for [V; N] {
    type Landed = [V::Landed; N];
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.iter().all(|value| value.is_on(ctx))
    }
    fn is_idle(&self) -> bool {
        self.iter().len() > 0 && self.iter().all(V::is_idle)
    }
    unsafe fn land(self) -> [V::Landed; N] {
        // SAFETY: passed on to the caller.
        self.map(|value| unsafe { value.land() })
    }
}

macro_rules! tuples {
    ($(($($v:ident $i:tt),+))+) => { $(
        impl<S: StreamTag, $($v: Flight<S>),+> flight::Sealed<S> for ($($v,)+) {}
        #[diagnostic::do_not_recommend]
        impl<S: StreamTag, $($v: Flight<S>),+> Flight<S> for ($($v,)+) {
            type Landed = ($($v::Landed,)+);
            fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
                $(self.$i.is_on(ctx))&&+
            }
            fn is_idle(&self) -> bool {
                $(self.$i.is_idle())&&+
            }
            unsafe fn land(self) -> Self::Landed {
                // SAFETY: passed on to the caller.
                unsafe { ($(self.$i.land(),)+) }
            }
        }
    )+ };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

/// Values in flight, and a point of their stream behind them. [`wait`](Recorded::wait) waits for that point only.
///
/// ```
/// use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let flight = ctx.create_host_buffer::<u8>(3)?.enqueue_fill(5)?;
/// let recorded = ctx.record(flight)?;
/// let later = ctx.enqueue_create_buffer_zeroed::<f32>(1 << 20)?; // `wait` does not wait for this
/// assert_eq!(recorded.wait()?.as_span(), [5; 3]);
/// # drop(later);
/// # Ok(()) }
/// ```
///
/// Until the wait nothing more is enqueued on the values:
///
/// ```compile_fail,E0382
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flight = ctx.create_host_buffer::<u8>(3)?.enqueue_fill(5)?;
/// let recorded = ctx.record(flight)?;
/// let flight = flight.enqueue_fill(6)?; // would come behind the point that `wait` waits for
/// # drop((recorded, flight));
/// # Ok(()) }
/// ```
#[must_use = "the stream owns these values until `wait` takes them back; dropping them gives the memory up"]
pub struct Recorded<V, S: StreamTag = Dyn> {
    values: V,
    event: Event,
    tag: std::marker::PhantomData<S>,
}

impl<V: Flight<S>, S: StreamTag> Recorded<V, S> {
    /// `values` are on the stream that `event` was taken of, and no later operation uses them.
    pub(crate) fn new(values: V, event: Event) -> Self {
        Recorded { values, event, tag: std::marker::PhantomData }
    }

    /// Whether the point has been passed. Does not block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let recorded = ctx.record(ctx.create_host_buffer::<u8>(3)?.enqueue_fill(5)?)?;
    /// while !recorded.is_finished()? {
    ///     std::thread::yield_now(); // do something else
    /// }
    /// assert_eq!(recorded.wait()?[0], 5); // does not block any more
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StreamFailed`] if the stream failed before the point.
    pub fn is_finished(&self) -> Result<bool, Error> {
        self.event.is_finished()
    }

    /// Waits until the stream has passed the point, and gives the values back. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u8>(2)?)?;
    /// let recorded = ctx.record((host, ()))?;
    /// let (host, ()) = recorded.wait()?;
    /// assert_eq!(host[..], [0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::StreamFailed`] if the stream failed before the point; the values come back, still in flight.
    pub fn wait(self) -> Result<V::Landed, Fault<Self>> {
        if self.values.is_idle()
            && let Ok(()) = not_on_worker(Operation::Wait)
        {
            // SAFETY: no operation was enqueued on any of the values.
            return Ok(unsafe { self.values.land() });
        }
        match self.event.wait(Operation::Wait) {
            // SAFETY: the values were on this stream when the event was taken (`record`), nothing was enqueued on them
            // since (they are in here), and the stream has passed the event.
            Ok(()) => Ok(unsafe { self.values.land() }),
            Err(error) => Err(Fault { error, value: self }),
        }
    }
}

impl<V, S: StreamTag> fmt::Debug for Recorded<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded(tag: {})", S::NAME)
    }
}
