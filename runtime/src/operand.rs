//! What copies take: sources and destinations, and the two bounds that make their mismatches readable.

use crate::block::BlockRef;
use crate::context::DeviceContext;
use crate::device_buffer::DeviceBuffer;
use crate::dtype::DType;
use crate::flight::InFlight;
use crate::host::HostBuffer;
use crate::region::Candidate;
use crate::scope::{HostSpan, HostSpanMut, RegisteredSpan};
use crate::shared_device::SharedDeviceBuffer;
use crate::shared_host::SharedHostBuffer;
use crate::span::{DeviceSpan, DeviceSpanMut};
use crate::symmetric::ShmemBuffer;
use crate::tag::StreamTag;

/// The tag of operands that join any stream: idle and shared host memory.
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// escrow::streams! { Upload }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let up = ctx.fork_tagged(Upload)?;
/// let host = up.create_host_buffer_from(&[1u8, 2])?; // idle, so the tag does not matter
/// let (dev, host) = ctx.enqueue_create_buffer_from(host)?;
/// assert_eq!(ctx.synchronize(host)?[..], dev.to_vec()?);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub enum AnyStream {}

mod same_stream {
    #[diagnostic::on_unimplemented(
        message = "`SameStream` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed<S> {}
    impl<S: crate::StreamTag> Sealed<S> for S {}
    impl<S: crate::StreamTag> Sealed<S> for super::AnyStream {}
}

/// An operand of tag `Self` can be used on a stream of tag `S`.
///
/// ```
/// # use escrow::{Device, DeviceContext, CopySrc, DeviceBuffer, Fault, SameStream, StreamTag};
/// /// Copies from whatever can be copied from on the stream of `dst`.
/// fn load<S, R>(dst: &mut DeviceBuffer<f32, S>, src: R) -> Result<R::Out<S>, Fault<R::Out<S>>>
/// where
///     S: StreamTag,
///     R: CopySrc<Elem = f32>,
///     R::Tag: SameStream<S>,
/// {
///     dst.enqueue_copy_from(src)
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let ones = ctx.enqueue_create_buffer::<f32>(2)?.enqueue_fill(1.0)?;
/// let mut dst = ctx.enqueue_create_buffer_zeroed(2)?;
/// load(&mut dst, &ones)?;
/// assert_eq!(dst.to_vec()?, [1.0, 1.0]);
/// # Ok(()) }
/// ```
///
/// Two tags never match:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, SameStream, StreamTag};
/// # fn main() -> Result<(), escrow::Error> {
/// escrow::streams! { Upload, Compute }
/// fn same<A: SameStream<B>, B: StreamTag>() {}
/// same::<Upload, Compute>(); // `same::<Upload, Upload>()` compiles
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "this operand belongs to stream `{Self}`, but the operation runs on stream `{S}`",
    label = "belongs to stream `{Self}`",
    note = "move it over first, `let x = from.handoff(x, &to)?;` where `from` is the context of `{Self}` and `to` that of `{S}`",
    note = "to read device memory on several streams, make it shared with `into_shared` and `share_with` each of them"
)]
pub trait SameStream<S>: same_stream::Sealed<S> {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag> SameStream<S> for S {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag> SameStream<S> for AnyStream {}

mod same_elem {
    #[diagnostic::on_unimplemented(
        message = "`SameElem` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed<T> {}
    impl<T> Sealed<T> for T {}
}

/// `Self` and `T` are the same element type.
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let ints = ctx.enqueue_create_buffer_zeroed::<i32>(4)?;
/// let mut floats = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// floats.enqueue_copy_from(&ints)?; // nothing is converted on the way
/// # Ok(()) }
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let ints = ctx.enqueue_create_buffer_zeroed::<i32>(4)?;
/// let mut floats = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// floats.enqueue_copy_from(ints.as_span().view::<f32>()?)?; // the same bits
/// assert_eq!(floats.to_vec()?, [0.0; 4]);
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "element types differ: this operand holds `{Self}`, but `{T}` is needed",
    label = "holds `{Self}`, not `{T}`",
    note = "nothing is converted on the way: create the buffer with `{T}`, or look at it through `view::<{T}>()`",
    note = "`MaybeUninit<_>` is device memory that nothing has written yet: `enqueue_fill` it, `enqueue_copy_from` into it (both give it back written), or pass it by value as a kernel's `out` argument"
)]
pub trait SameElem<T>: same_elem::Sealed<T> {}
#[diagnostic::do_not_recommend]
impl<T> SameElem<T> for T {}

mod src {
    #[diagnostic::on_unimplemented(
        message = "`CopySrc` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}
mod dst {
    #[diagnostic::on_unimplemented(
        message = "`CopyDst` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

/// The source of a copy.
///
/// Owned host memory moves in; shared, device and lent memory is borrowed for the call.
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let idle = ctx.create_host_buffer_from(&[1u8, 2])?;
/// let shared = ctx.create_host_buffer_from(&[3u8, 4])?.into_shared();
/// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let flight = dev.enqueue_copy_from(idle)?;   // by value: comes back in flight
/// let flight = dev.enqueue_copy_from(flight)?; // and goes on from there
/// dev.enqueue_copy_from(&shared)?;             // by reference: `()` comes back
/// assert_eq!(dev.to_vec()?, [3, 4]);
/// # drop(flight);
/// # Ok(()) }
/// ```
///
/// Borrowed host memory is no source, since the copy may run on behind the borrow:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let values = vec![1u8, 2];
/// dev.enqueue_copy_from(&values)?; // `copy_from_slice`, or `lend` it in a scope
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of a copy",
    label = "not a copy source",
    note = "sources: `HostBuffer` and `InFlight<HostBuffer>` by value, `&SharedHostBuffer`, `&DeviceBuffer`, `DeviceSpan`, `&SharedDeviceBuffer`, `&ShmemBuffer`; an `Exposed` buffer is other PEs' in this phase: `job.barrier_all(open)?` first",
    note = "borrowed host memory could be freed or changed while the copy still runs. Move a `HostBuffer` in (the wait gives it back); for a slice or `Vec` use `copy_from_slice`, which waits, or `ctx.scope(|s| ... s.lend(&slice) ...)`. Parts of a `HostBuffer` that can move in: `into_split_at`, `into_chunks`"
)]
pub trait CopySrc: src::Sealed + Sized {
    /// The element type.
    type Elem;
    /// The tag of the stream that the memory is on.
    type Tag;
    /// What a call on stream `S` hands back for this operand: `InFlight<HostBuffer>` for owned host memory, `()` for
    /// all else.
    type Out<S: StreamTag>;
    /// The same, together with a receiver `R` that was moved in.
    type With<R, S: StreamTag>;

    #[doc(hidden)]
    fn candidate(&self) -> Candidate<'_>;
    /// A count that must outlive the copy because the operand stays with the caller.
    #[doc(hidden)]
    #[inline]
    fn count(&self) -> Option<Counted> {
        None
    }
    /// What the call hands back, knowing whether a driver or a worker was asked.
    #[doc(hidden)]
    fn settle<S: StreamTag>(self, ctx: &DeviceContext<S>, asked: bool) -> Self::Out<S>;
    #[doc(hidden)]
    fn with<R, S: StreamTag>(receiver: R, out: Self::Out<S>) -> Self::With<R, S>;
}

/// The destination of a copy.
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer::<u8>(2)?.enqueue_fill(5)?;
/// let mut other = ctx.enqueue_create_buffer_zeroed::<u8>(4)?;
/// dev.enqueue_copy_to(other.as_span_mut().slice(2..)?)?;                // device memory: borrowed
/// let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u8>(2)?)?; // host memory: moves in
/// assert_eq!(ctx.synchronize(host)?[..], other.to_vec()?[2..]);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let mut values = vec![0u8; 2];
/// dev.enqueue_copy_to(&mut values)?; // `copy_to_slice`, or `lend_mut` it in a scope
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of a copy",
    label = "not a copy destination",
    note = "destinations: `HostBuffer` and `InFlight<HostBuffer>` by value, `&mut DeviceBuffer`, `DeviceSpanMut`, `&mut ShmemBuffer`; an `Exposed` buffer is other PEs' in this phase: `job.barrier_all(open)?` first",
    note = "borrowed host memory could be freed or read while the copy still runs. Move a `HostBuffer` in (the wait gives it back); for a slice or `Vec` use `copy_to_slice`, which waits, or `ctx.scope(|s| ... s.lend_mut(&mut slice) ...)`",
    note = "device memory that was never written receives by itself: `let dev = uninit.enqueue_copy_from(src)?;` gives it back written"
)]
pub trait CopyDst: dst::Sealed + Sized {
    /// The element type.
    type Elem;
    /// The tag of the stream that the memory is on.
    type Tag;
    /// As for [`CopySrc::Out`].
    type Out<S: StreamTag>;
    /// As for [`CopySrc::With`].
    type With<R, S: StreamTag>;

    #[doc(hidden)]
    fn candidate(&self) -> Candidate<'_>;
    /// What the call hands back, knowing whether a driver or a worker was asked.
    #[doc(hidden)]
    fn settle<S: StreamTag>(self, ctx: &DeviceContext<S>, asked: bool) -> Self::Out<S>;
    #[doc(hidden)]
    fn with<R, S: StreamTag>(receiver: R, out: Self::Out<S>) -> Self::With<R, S>;
}

/// One count of a shared block; opaque outside of this crate.
#[doc(hidden)]
pub struct Counted(pub(crate) BlockRef);

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counted")
    }
}

/// Operands that stay with the caller: memory of one stream, borrowed for the call.
macro_rules! kept {
    ($($trait:ident, $seal:ident, [$($g:tt)*] $t:ty;)+) => { $(
        impl<$($g)*> $seal::Sealed for $t {}
        #[diagnostic::do_not_recommend]
        impl<$($g)*> $trait for $t {
            type Elem = T;
            type Tag = S;
            type Out<Q: StreamTag> = ();
            type With<R, Q: StreamTag> = R;
            #[inline]
            fn candidate(&self) -> Candidate<'_> {
                self.operand()
            }
            #[inline]
            fn settle<Q: StreamTag>(self, _: &DeviceContext<Q>, _: bool) {}
            #[inline]
            fn with<R, Q: StreamTag>(receiver: R, (): ()) -> R {
                receiver
            }
        }
    )+ };
}

kept! {
    CopySrc, src, [T, S: StreamTag] &DeviceBuffer<T, S>;
    CopySrc, src, [T, S: StreamTag] &SharedDeviceBuffer<T, S>;
    CopySrc, src, [T, S: StreamTag] &ShmemBuffer<'_, T, S>;
    CopySrc, src, [T, S: StreamTag] DeviceSpan<'_, T, S>;
    CopySrc, src, [T, S: StreamTag] &DeviceSpan<'_, T, S>;
    CopySrc, src, [T: DType, S: StreamTag] HostSpan<'_, T, S>;
    CopySrc, src, [T: DType, S: StreamTag] &RegisteredSpan<'_, T, S>;
    CopyDst, dst, [T, S: StreamTag] &mut DeviceBuffer<T, S>;
    CopyDst, dst, [T, S: StreamTag] &mut ShmemBuffer<'_, T, S>;
    CopyDst, dst, [T, S: StreamTag] DeviceSpanMut<'_, T, S>;
    CopyDst, dst, [T, S: StreamTag] &mut DeviceSpanMut<'_, T, S>;
    CopyDst, dst, [T: DType, S: StreamTag] HostSpanMut<'_, T, S>;
    CopyDst, dst, [T: DType, S: StreamTag] &mut RegisteredSpan<'_, T, S>;
}

/// Host memory that moves in and comes back in flight: idle, it joins the operation's stream.
macro_rules! moved {
    ($($trait:ident, $seal:ident;)+) => { $(
        impl<T: DType, S: StreamTag> $seal::Sealed for HostBuffer<T, S> {}
        #[diagnostic::do_not_recommend]
        impl<T: DType, S: StreamTag> $trait for HostBuffer<T, S> {
            type Elem = T;
            type Tag = AnyStream;
            type Out<Q: StreamTag> = InFlight<HostBuffer<T, Q>>;
            type With<R, Q: StreamTag> = (R, InFlight<HostBuffer<T, Q>>);
            #[inline]
            fn candidate(&self) -> Candidate<'_> {
                self.operand()
            }
            #[inline]
            fn settle<Q: StreamTag>(self, ctx: &DeviceContext<Q>, asked: bool) -> Self::Out<Q> {
                self.take_off(ctx).after(asked)
            }
            #[inline]
            fn with<R, Q: StreamTag>(receiver: R, out: Self::Out<Q>) -> Self::With<R, Q> {
                (receiver, out)
            }
        }
        impl<T: DType, S: StreamTag> $seal::Sealed for InFlight<HostBuffer<T, S>> {}
        #[diagnostic::do_not_recommend]
        impl<T: DType, S: StreamTag> $trait for InFlight<HostBuffer<T, S>> {
            type Elem = T;
            type Tag = S;
            type Out<Q: StreamTag> = Self;
            type With<R, Q: StreamTag> = (R, Self);
            #[inline]
            fn candidate(&self) -> Candidate<'_> {
                self.operand()
            }
            #[inline]
            fn settle<Q: StreamTag>(self, _: &DeviceContext<Q>, asked: bool) -> Self {
                self.after(asked)
            }
            #[inline]
            fn with<R, Q: StreamTag>(receiver: R, out: Self) -> (R, Self) {
                (receiver, out)
            }
        }
    )+ };
}

moved! {
    CopySrc, src;
    CopyDst, dst;
}

impl<T: DType, S: StreamTag> src::Sealed for &SharedHostBuffer<T, S> {}
#[diagnostic::do_not_recommend]
impl<T: DType, S: StreamTag> CopySrc for &SharedHostBuffer<T, S> {
    type Elem = T;
    type Tag = AnyStream;
    type Out<Q: StreamTag> = ();
    type With<R, Q: StreamTag> = R;
    #[inline]
    fn candidate(&self) -> Candidate<'_> {
        self.operand()
    }
    #[inline]
    fn count(&self) -> Option<Counted> {
        self.block().cloned().map(Counted)
    }
    #[inline]
    fn settle<Q: StreamTag>(self, _: &DeviceContext<Q>, _: bool) {}
    #[inline]
    fn with<R, Q: StreamTag>(receiver: R, (): ()) -> R {
        receiver
    }
}
