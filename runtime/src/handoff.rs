//! What can move from one stream to another.

use crate::context::DeviceContext;
use crate::device_buffer::DeviceBuffer;
use crate::dtype::DType;
use crate::flight::InFlight;
use crate::host::HostBuffer;
use crate::tag::StreamTag;

mod seal {
    #[diagnostic::on_unimplemented(
        message = "`Handoff` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed<S> {}
}

/// Values that [`DeviceContext::handoff`] moves from a stream of tag `S` to another stream.
///
/// ```
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Dyn, Fault, Handoff};
/// escrow::streams! { Compute }
/// fn to_compute<V: Handoff<Dyn>>(
///     ctx: &DeviceContext,
///     values: V,
///     compute: &DeviceContext<Compute>,
/// ) -> Result<V::To<Compute>, Fault<V>> {
///     ctx.handoff(values, compute)
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let compute = ctx.fork_tagged(Compute)?;
/// let layers = vec![ctx.enqueue_create_buffer_zeroed::<f32>(4)?, ctx.enqueue_create_buffer_zeroed(8)?];
/// let layers: Vec<DeviceBuffer<f32, Compute>> = to_compute(&ctx, layers, &compute)?;
/// assert_eq!(layers[1].len(), 8);
/// # Ok(()) }
/// ```
///
/// Host memory that is not in flight joins any stream as it is:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let other = ctx.fork()?;
/// let host = ctx.create_host_buffer::<f32>(8)?;
/// let host = ctx.handoff(host, &other)?; // nothing is pending on it
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be handed off by stream `{S}`",
    label = "not of stream `{S}`",
    note = "`ctx.handoff(values, &to)` takes device buffers and `InFlight` host buffers of `ctx`'s own stream, also in tuples, arrays, `Vec`s and `Option`s",
    note = "a `HostBuffer` that is not in flight needs no handoff: it joins any stream. Lent memory stays on its scope's"
)]
pub trait Handoff<S: StreamTag>: seal::Sealed<S> + Sized {
    /// The same values under another tag.
    type To<S2: StreamTag>;

    #[doc(hidden)]
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool;
    /// Whether there are values and no operation was enqueued on any of them.
    #[doc(hidden)]
    fn is_idle(&self) -> bool;

    /// # Safety
    /// All values are on one stream, and `to`'s comes after everything that it has enqueued.
    #[doc(hidden)]
    unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> Self::To<S2>;
}

impl<T, S: StreamTag> seal::Sealed<S> for DeviceBuffer<T, S> {}
#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> Handoff<S> for DeviceBuffer<T, S> {
    type To<S2: StreamTag> = DeviceBuffer<T, S2>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.context().is_same_stream(ctx)
    }
    fn is_idle(&self) -> bool {
        false
    }
    unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> DeviceBuffer<T, S2> {
        // SAFETY: passed on to the caller.
        unsafe { DeviceBuffer::retag(self, to) }
    }
}

impl<T: DType, S: StreamTag> seal::Sealed<S> for InFlight<HostBuffer<T, S>> {}
#[diagnostic::do_not_recommend]
impl<T: DType, S: StreamTag> Handoff<S> for InFlight<HostBuffer<T, S>> {
    type To<S2: StreamTag> = InFlight<HostBuffer<T, S2>>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.context().is_same_stream(ctx)
    }
    fn is_idle(&self) -> bool {
        InFlight::is_idle(self)
    }
    unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> InFlight<HostBuffer<T, S2>> {
        // SAFETY: passed on to the caller.
        unsafe { InFlight::retag(self, to) }
    }
}

impl<S: StreamTag, V: Handoff<S>> seal::Sealed<S> for Vec<V> {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Handoff<S>> Handoff<S> for Vec<V> {
    type To<S2: StreamTag> = Vec<V::To<S2>>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.iter().all(|value| value.is_on(ctx))
    }
    fn is_idle(&self) -> bool {
        self.iter().len() > 0 && self.iter().all(V::is_idle)
    }
    unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> Vec<V::To<S2>> {
        // SAFETY: passed on to the caller.
        self.into_iter().map(|value| unsafe { value.retag(to) }).collect()
    }
}

impl<S: StreamTag, V: Handoff<S>> seal::Sealed<S> for Option<V> {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Handoff<S>> Handoff<S> for Option<V> {
    type To<S2: StreamTag> = Option<V::To<S2>>;
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.iter().all(|value| value.is_on(ctx))
    }
    fn is_idle(&self) -> bool {
        self.iter().len() > 0 && self.iter().all(V::is_idle)
    }
    unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> Option<V::To<S2>> {
        // SAFETY: passed on to the caller.
        self.map(|value| unsafe { value.retag(to) })
    }
}

impl<S: StreamTag, V: Handoff<S>, const N: usize> seal::Sealed<S> for [V; N] {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Handoff<S>, const N: usize> Handoff<S> for [V; N] {
    type To<S2: StreamTag> = [V::To<S2>; N];
    fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
        self.iter().all(|value| value.is_on(ctx))
    }
    fn is_idle(&self) -> bool {
        self.iter().len() > 0 && self.iter().all(V::is_idle)
    }
    unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> [V::To<S2>; N] {
        // SAFETY: passed on to the caller.
        self.map(|value| unsafe { value.retag(to) })
    }
}

macro_rules! tuples {
    ($(($($v:ident $i:tt),+))+) => { $(
        impl<S: StreamTag, $($v: Handoff<S>),+> seal::Sealed<S> for ($($v,)+) {}
        #[diagnostic::do_not_recommend]
        impl<S: StreamTag, $($v: Handoff<S>),+> Handoff<S> for ($($v,)+) {
            type To<S2: StreamTag> = ($($v::To<S2>,)+);
            fn is_on(&self, ctx: &DeviceContext<S>) -> bool {
                $(self.$i.is_on(ctx))&&+
            }
            fn is_idle(&self) -> bool {
                $(self.$i.is_idle())&&+
            }
            unsafe fn retag<S2: StreamTag>(self, to: &DeviceContext<S2>) -> Self::To<S2> {
                // SAFETY: passed on to the caller.
                unsafe { ($(self.$i.retag(to),)+) }
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
