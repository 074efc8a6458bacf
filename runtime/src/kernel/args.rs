//! What kernels take.

use std::mem::MaybeUninit;

use crate::context::DeviceContext;
use crate::device_buffer::DeviceBuffer;
use crate::dtype::DType;
use crate::dtype::ctext::{Part, Text, kind};
use crate::error::{Error, Operation};
use crate::kernel::{ArgCheck, DeviceLayout, DevicePassable, KernelSpan, KernelSpanMut};
use crate::pointer::TrustedPtr;
use crate::region::{Candidate, admit};
use crate::shared_device::SharedDeviceBuffer;
use crate::span::{DeviceSpan, DeviceSpanMut};
use crate::symmetric::{KernelPeer, PeerSpan, ShmemBuffer};
use crate::tag::StreamTag;

mod read {
    #[diagnostic::on_unimplemented(
        message = "`DeviceRead` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}
mod write {
    #[diagnostic::on_unimplemented(
        message = "`DeviceWrite` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}
mod out {
    #[diagnostic::on_unimplemented(
        message = "`KernelOut` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

/// Device memory that a kernel reads: what goes where a kernel declares `&[T]`, behind a `&`.
///
/// ```
/// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
/// # #[escrow::kernels(struct Set)]
/// # unsafe extern "kernel" {
/// #     #[cpu(copy)] #[launch(cover(y))] #[requires(x.len() == y.len())] safe fn copy(x: &[f32], y: &mut [f32]);
/// # }
/// # fn copy(share: &mut Share<'_>, x: &[f32], y: KernelSpanMut<'_, f32>) {
/// #     let range = share.range();
/// #     y.own(share).copy_from_slice(&x[range]);
/// # }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let x = ctx.enqueue_create_buffer::<f32>(4)?.enqueue_fill(3.0)?;
/// let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// let set = Set::load(ctx.device())?;
/// set.copy(&ctx, &x, &mut y)?;           // a buffer
/// set.copy(&ctx, &x.as_span(), &mut y)?; // a span
/// let x = x.into_shared()?;
/// set.copy(&ctx, &x, &mut y)?;           // a shared buffer
/// assert_eq!(y.to_vec()?, [3.0; 4]);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Error, HostBuffer};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     safe fn copy(x: &[f32], y: &mut [f32]);
/// }
/// fn user(set: &Set, ctx: &DeviceContext, x: HostBuffer<f32>, y: &mut DeviceBuffer<f32>) -> Result<(), Error> {
///     set.copy(ctx, &x, y) // host memory: copy it to the device first
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory that a kernel or a put can read",
    label = "not memory that the device reads",
    note = "pass `&` of a `DeviceBuffer`, `DeviceSpan`, `DeviceSpanMut`, `SharedDeviceBuffer` or `ShmemBuffer` of the operation's stream; host memory is copied to the device first; an `Exposed` buffer is other PEs' in this phase: `job.barrier_all(open)?` first"
)]
pub trait DeviceRead: read::Sealed {
    /// The element type.
    type Elem;
    /// The tag of the stream that the memory is on.
    type Tag;

    #[doc(hidden)]
    fn candidate(&self) -> Candidate<'_>;
}

/// Device memory that a kernel writes: what goes where a kernel declares `&mut [T]`, behind a `&mut`.
///
/// ```
/// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
/// # #[escrow::kernels(struct Set)]
/// # unsafe extern "kernel" { #[cpu(add_one)] #[launch(cover(y))] safe fn add_one(y: &mut [f32]); }
/// # fn add_one(share: &mut Share<'_>, y: KernelSpanMut<'_, f32>) {
/// #     y.own(share).iter_mut().for_each(|y| *y += 1.0);
/// # }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(3)?;
/// let set = Set::load(ctx.device())?;
/// set.add_one(&ctx, &mut y)?;                             // a buffer
/// set.add_one(&ctx, &mut y.as_span_mut().slice(1..)?)?; // a span
/// assert_eq!(y.to_vec()?, [1.0, 2.0, 2.0]);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, Error, SharedDeviceBuffer};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     safe fn add_one(y: &mut [f32]);
/// }
/// fn user(set: &Set, ctx: &DeviceContext, mut y: SharedDeviceBuffer<f32>) -> Result<(), Error> {
///     set.add_one(ctx, &mut y) // `try_unshare` first
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory that a kernel or a get can write",
    label = "not memory that the device writes",
    note = "pass `&mut` of a `DeviceBuffer`, `DeviceSpanMut` or `ShmemBuffer` of the operation's stream; host memory is copied to the device first, a shared buffer goes through `try_unshare` first; an `Exposed` buffer is other PEs' in this phase: `job.barrier_all(open)?` first"
)]
pub trait DeviceWrite: write::Sealed {
    /// The element type.
    type Elem;
    /// The tag of the stream that the memory is on.
    type Tag;

    #[doc(hidden)]
    fn candidate(&self) -> Candidate<'_>;
}

/// Device memory that a kernel writes as a whole: what goes where a kernel declares `#[out(..)] x: &mut [T]`, by value.
///
/// ```
/// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
/// # #[escrow::kernels(struct Set)]
/// # unsafe extern "kernel" { #[cpu(iota)] #[launch(cover(y))] safe fn iota(#[out(each)] y: &mut [u32]); }
/// # fn iota(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
/// #     let range = share.range();
/// #     y.own(share).iter_mut().zip(range).for_each(|(y, i)| *y = i as u32);
/// # }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let set = Set::load(ctx.device())?;
/// let raw = ctx.enqueue_create_buffer::<u32>(3)?;
/// let mut y = set.iota(&ctx, raw)?; // by value: comes back as written
/// y.enqueue_fill(9)?;
/// set.iota(&ctx, &mut y)?;          // written before: by `&mut`
/// assert_eq!(y.to_vec()?, [0, 1, 2]);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, Error};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     safe fn iota(#[out(each)] y: &mut [u32]);
/// }
/// fn user(set: &Set, ctx: &DeviceContext) -> Result<(), Error> {
///     let mut raw = ctx.enqueue_create_buffer::<u32>(3)?;
///     set.iota(ctx, &mut raw)?; // nothing would say that it is written now
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an `out` argument of a kernel",
    label = "a kernel cannot write this as a whole",
    note = "pass a `DeviceBuffer<MaybeUninit<_>>` by value (it comes back written), or `&mut` of a written `DeviceBuffer` or `ShmemBuffer`, or a `DeviceSpanMut`; an `Exposed` buffer is other PEs' in this phase: `job.barrier_all(open)?` first"
)]
pub trait KernelOut: out::Sealed + Sized {
    /// The element type, once written.
    type Elem;
    /// The tag of the stream that the memory is on.
    type Tag;
    /// What the launch returns for this argument.
    type Written;

    #[doc(hidden)]
    fn candidate(&self) -> Candidate<'_>;
    /// # Safety
    /// Work that writes every element was enqueued on the memory's stream, or there are no elements.
    #[doc(hidden)]
    unsafe fn written(self) -> Self::Written;
}

macro_rules! operands {
    ($($trait:ident, $seal:ident, $t:ident<$($lt:lifetime)?>;)+) => { $(
        impl<T, S: StreamTag> $seal::Sealed for $t<$($lt,)? T, S> {}
        #[diagnostic::do_not_recommend]
        impl<T, S: StreamTag> $trait for $t<$($lt,)? T, S> {
            type Elem = T;
            type Tag = S;
            #[inline]
            fn candidate(&self) -> Candidate<'_> {
                self.operand()
            }
        }
    )+ };
}

operands! {
    DeviceRead, read, DeviceBuffer<>;
    DeviceRead, read, SharedDeviceBuffer<>;
    DeviceRead, read, DeviceSpan<'_>;
    DeviceRead, read, DeviceSpanMut<'_>;
    DeviceRead, read, ShmemBuffer<'_>;
    DeviceWrite, write, DeviceBuffer<>;
    DeviceWrite, write, DeviceSpanMut<'_>;
    DeviceWrite, write, ShmemBuffer<'_>;
}

macro_rules! outs {
    ($([$($lt:lifetime)?] $t:ty, $written:ty, $this:ident => $result:expr;)+) => { $(
        impl<$($lt,)? T: DType, S: StreamTag> out::Sealed for $t {}
        #[diagnostic::do_not_recommend]
        impl<$($lt,)? T: DType, S: StreamTag> KernelOut for $t {
            type Elem = T;
            type Tag = S;
            type Written = $written;
            #[inline]
            fn candidate(&self) -> Candidate<'_> {
                self.operand()
            }
            #[inline]
            unsafe fn written($this) -> $written {
                $result
            }
        }
    )+ };
}

outs! {
    // SAFETY: the contract of `written`; what this stream does from now on comes after that work.
    [] DeviceBuffer<MaybeUninit<T>, S>, DeviceBuffer<T, S>, self => unsafe { self.assume_init() };
    // SAFETY: as above.
    ['job] ShmemBuffer<'job, MaybeUninit<T>, S>, ShmemBuffer<'job, T, S>, self => unsafe { self.assume_init() };
    [] &mut DeviceBuffer<T, S>, (), self => ();
    [] &mut ShmemBuffer<'_, T, S>, (), self => ();
    [] DeviceSpanMut<'_, T, S>, (), self => ();
    // A part of a buffer: the whole stays `MaybeUninit`.
    [] DeviceSpanMut<'_, MaybeUninit<T>, S>, (), self => ();
}

/// The texts of a pointer. One to an array needs parentheses in C: `float (*x)[3]`.
struct Pointer<T, const KIND: u8>(T);

const READ: u8 = 0;
const WRITE: u8 = 1;
const TRUSTED: u8 = 2;
const PEER: u8 = 3;
const SYMMETRIC: u8 = 4;

impl<T: DType, const KIND: u8> Pointer<T, KIND> {
    const IS_ARRAY: bool = !T::C_DIMS.is_empty();
    const NAME: &'static str = <Self as Text<kind::Name>>::STR;
    const C_NAME: &'static str = <Self as Text<kind::CName>>::STR;
    const C_DIMS: &'static str = if Self::IS_ARRAY { <Self as Text<kind::CDims>>::STR } else { "" };
}

impl<T: DType, const KIND: u8> Text<kind::Name> for Pointer<T, KIND> {
    const PARTS: &'static [Part] = &[
        Part::Str(match KIND {
            READ => "DeviceSpan<",
            WRITE => "DeviceSpanMut<",
            PEER => "PeerSpan<",
            SYMMETRIC => "ShmemBuffer<",
            _ => "TrustedPtr<",
        }),
        Part::Str(T::NAME),
        Part::Str(">"),
    ];
}

impl<T: DType, const KIND: u8> Text<kind::CName> for Pointer<T, KIND> {
    const PARTS: &'static [Part] = &[
        Part::Str(if KIND == READ { "const " } else { "" }),
        Part::Str(T::C_NAME),
        Part::Str(if Self::IS_ARRAY { " (*" } else { " *" }),
    ];
}

impl<T: DType, const KIND: u8> Text<kind::CDims> for Pointer<T, KIND> {
    const PARTS: &'static [Part] = &[Part::Str(")"), Part::Str(T::C_DIMS)];
}

/// The address of a span that a launch's check has compared with the launching stream, whose address is in no reach here.
fn visited<S: StreamTag>(ctx: &DeviceContext<S>, operand: Candidate<'_>) -> *mut u8 {
    match admit(Operation::Launch, ctx.stream(), operand) {
        Ok(admitted) => admitted.ptr,
        Err(_) => unreachable!("a span is on the stream of its own context"),
    }
}

macro_rules! spans {
    ($([$($elem:tt)*] $t:ident, $body:ident, $kind:ident;)+) => { $(
        // SAFETY: `DeviceType` is a 64-bit address and the C type a pointer to the element's C type. The address is the
        // one that `visit` shows.
        #[diagnostic::do_not_recommend]
        unsafe impl<T: DType, S: StreamTag> DeviceLayout for $t<'_, $($elem)*, S> {
            type DeviceType = u64;
            type Body<'k> = $body<'k, T>;
            const TYPE_NAME: &'static str = Pointer::<T, $kind>::NAME;
            const C_NAME: &'static str = Pointer::<T, $kind>::C_NAME;
            const C_DIMS: &'static str = Pointer::<T, $kind>::C_DIMS;
            const C_DECL: &'static str = T::C_DECL;

            #[inline]
            unsafe fn to_device(&self) -> u64 {
                // Null where there are no elements.
                if self.is_empty() { 0 } else { visited(self.context(), self.operand()).expose_provenance() as u64 }
            }

            #[inline]
            unsafe fn to_body<'k>(&self) -> Self::Body<'k> {
                // SAFETY: the caller has had this span visited, and promises the accesses. Elements are initialised also
                // where nothing has written them, as all memory of the CPU device is.
                unsafe { $body::new(visited(self.context(), self.operand()).cast(), self.len()) }
            }
        }

        // SAFETY: the one span is shown.
        #[diagnostic::do_not_recommend]
        unsafe impl<T: DType, S: StreamTag> DevicePassable<S> for $t<'_, $($elem)*, S> {
            #[inline]
            fn visit(&self, check: &mut ArgCheck<'_, S>) -> Result<(), Error> {
                check.admit(self.operand()).map(|_| ())
            }
        }
    )+ };
}

spans! {
    [T] DeviceSpan, KernelSpan, READ;
    [T] DeviceSpanMut, KernelSpanMut, WRITE;
    [T] ShmemBuffer, KernelSpanMut, SYMMETRIC;
    [T] PeerSpan, KernelPeer, PEER;
    [MaybeUninit<T>] DeviceSpanMut, KernelSpanMut, WRITE;
}

// SAFETY: a pointer is a 64-bit address. There is no span inside; whoever called `trust` answers for the memory.
#[diagnostic::do_not_recommend]
unsafe impl<T: DType> DeviceLayout for TrustedPtr<T> {
    type DeviceType = u64;
    type Body<'k> = Self;
    const TYPE_NAME: &'static str = Pointer::<T, TRUSTED>::NAME;
    const C_NAME: &'static str = Pointer::<T, TRUSTED>::C_NAME;
    const C_DIMS: &'static str = Pointer::<T, TRUSTED>::C_DIMS;
    const C_DECL: &'static str = T::C_DECL;

    unsafe fn to_device(&self) -> u64 {
        self.as_ptr().expose_provenance() as u64
    }

    unsafe fn to_body<'k>(&self) -> Self::Body<'k> {
        *self
    }
}

// SAFETY: there is no span inside.
#[diagnostic::do_not_recommend]
unsafe impl<T: DType, S: StreamTag> DevicePassable<S> for TrustedPtr<T> {
    fn visit(&self, _: &mut ArgCheck<'_, S>) -> Result<(), Error> {
        Ok(())
    }
}
