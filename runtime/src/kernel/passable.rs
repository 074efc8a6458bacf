//! What a kernel's by-value parameters are made of.

use std::num::Wrapping;

use crate::dtype::{Bool8, DType, F8E4M3, F8E5M2, PodElement};
use crate::error::Error;
use crate::kernel::ArgCheck;
use crate::tag::StreamTag;

/// What a value looks like on a device, whichever stream it is passed on.
///
/// Elements look like themselves. A device span is one pointer. `#[derive(DevicePassable)]` makes a C struct of a host
/// struct.
///
/// ```
/// # use escrow::{Device, DeviceContext, DeviceLayout, DevicePassable, DeviceSpan};
/// assert_eq!((u32::TYPE_NAME, u32::C_NAME), ("u32", "unsigned int"));
/// assert_eq!(<DeviceSpan<'_, f32> as DeviceLayout>::C_NAME.trim(), "const float *");
///
/// #[derive(DevicePassable)]
/// struct Weights(f32, [u8; 4]);
/// assert!(Weights::C_DECL.contains("float _0;"));
/// ```
///
/// Host memory looks like nothing on a device:
///
/// ```compile_fail,E0277
/// # use escrow::DevicePassable;
/// #[derive(DevicePassable)]
/// struct Table {
///     values: Vec<f32>, // copy it to the device, and hold a `DeviceSpan`
/// }
/// ```
///
/// # Safety
/// - `DeviceType` is, byte by byte, the parameter that a kernel declared with `C_NAME` and `C_DIMS` has; its alignment
///   is at most 16.
/// - `to_device` and `to_body` give that value, with all pointers inside pointing to memory that `visit` has shown to
///   the check.
/// - `C_DECL` declares what `C_NAME` needs, guarded so that it may be there twice.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    label = "has no layout that a kernel knows",
    note = "elements (`DType`), device spans and trusted pointers can be passed, and structs of these with `#[derive(DevicePassable)]`",
    note = "host memory is copied to the device first; a raw `DevicePtr` needs `unsafe trust()`; an `Exposed` buffer is other PEs' in this phase: `job.barrier_all(open)?` first"
)]
pub unsafe trait DeviceLayout {
    /// The kernel's parameter: plain C data.
    type DeviceType: Copy + 'static;
    /// What a Rust kernel body gets: a scalar itself, a slice for a span, `NameBody<'k>` for a derived struct `Name`.
    type Body<'k>: Copy;
    /// Name of the type as Rust writes it.
    const TYPE_NAME: &'static str;
    /// The CUDA C type of the parameter.
    const C_NAME: &'static str;
    /// What follows the name of a C variable of this type.
    const C_DIMS: &'static str = "";
    /// What must stand in front of the first use of `C_NAME` in a CUDA C++ file.
    const C_DECL: &'static str = "";

    /// The kernel's parameter.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceLayout};
    /// // SAFETY: a number holds no pointers.
    /// assert_eq!(unsafe { 7u32.to_device() }, 7);
    /// ```
    ///
    /// # Safety
    /// The result may hold pointers without a lifetime and without a stream: it goes to a launch whose check has
    /// [visited](DevicePassable::visit) this value, and nowhere else.
    unsafe fn to_device(&self) -> Self::DeviceType;

    /// What a Rust kernel body gets.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceLayout};
    /// // SAFETY: an array of numbers holds no pointers.
    /// assert_eq!(unsafe { [1.0f32, 2.0].to_body() }, [1.0, 2.0]);
    /// ```
    ///
    /// # Safety
    /// As for `to_device`; and during `'k` nobody else uses the memory of mutable spans inside, and nobody writes that
    /// of the others.
    unsafe fn to_body<'k>(&self) -> Self::Body<'k>;
}

/// A value that can be passed to a kernel on a stream with tag `S`.
///
/// Implemented by `#[derive(DevicePassable)]`, for elements, device spans and trusted pointers.
///
/// ```
/// use escrow::{DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, StreamTag};
///
/// #[derive(DevicePassable)]
/// struct Stencil<'a, S: StreamTag = Dyn> {
///     src: DeviceSpan<'a, f32, S>,
///     #[device(len_of(src))]
///     n: u32, // filled in with `src.len()`; what the host writes here is ignored
///     dst: DeviceSpanMut<'a, f32, S>,
///     weight: f32,
/// }
/// # let ctx = escrow::DeviceContext::new(escrow::Device::cpu())?;
/// # let src = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// # let mut dst = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// let p = Stencil { src: src.as_span(), n: 0, dst: dst.as_span_mut(), weight: 0.5 };
/// assert_eq!(p.src.len() + p.dst.len(), 8);
/// # let _ = (p.n, p.weight);
/// # Ok::<(), escrow::Error>(())
/// ```
///
/// Host memory is no part of it:
///
/// ```compile_fail,E0277
/// # use escrow::{DevicePassable, HostBuffer};
/// #[derive(DevicePassable)]
/// struct Stencil {
///     src: HostBuffer<f32>, // copy it to the device, and hold a `DeviceSpan`
///     weight: f32,
/// }
/// ```
///
/// # Safety
/// `visit` shows every span inside to the check.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel on stream `{S}`",
    label = "not passable on stream `{S}`",
    note = "scalars, `DType` structs, device spans and pointers of the launching context's stream, and `#[derive(DevicePassable)]` structs of these can"
)]
pub unsafe trait DevicePassable<S: StreamTag>: DeviceLayout {
    /// Shows every span inside to the check, which compares its stream with the launching context's.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, ArgCheck, DevicePassable, DeviceSpan, Error, StreamTag};
    /// struct Pair<'a, S: StreamTag>(DeviceSpan<'a, f32, S>, DeviceSpan<'a, f32, S>);
    ///
    /// fn visit<S: StreamTag>(pair: &Pair<'_, S>, check: &mut ArgCheck<'_, S>) -> Result<(), Error> {
    ///     pair.0.visit(check)?; // what a derive does: all fields, one after another
    ///     pair.1.visit(check)
    /// }
    /// # let _ = visit::<escrow::Dyn>;
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongStream`], [`Error::WrongDevice`] of the first span that does not belong.
    fn visit(&self, check: &mut ArgCheck<'_, S>) -> Result<(), Error>;
}

macro_rules! scalars {
    ($($(#[$meta:meta])* [$($generics:tt)*] $ty:ty),+ $(,)?) => { $(
        $(#[$meta])*
        // SAFETY: an element has the layout of the C type that it names, and no pointers.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generics)*> DeviceLayout for $ty {
            type DeviceType = Self;
            type Body<'k> = Self;
            const TYPE_NAME: &'static str = <Self as DType>::NAME;
            const C_NAME: &'static str = <Self as DType>::C_NAME;
            const C_DIMS: &'static str = <Self as DType>::C_DIMS;
            const C_DECL: &'static str = <Self as DType>::C_DECL;

            unsafe fn to_device(&self) -> Self {
                const { <Self as DType>::VALID };
                *self
            }

            unsafe fn to_body<'k>(&self) -> Self::Body<'k> {
                const { <Self as DType>::VALID };
                *self
            }
        }

        $(#[$meta])*
        // SAFETY: there is no span inside.
        #[diagnostic::do_not_recommend]
        unsafe impl<$($generics)* __S: StreamTag> DevicePassable<__S> for $ty {
            fn visit(&self, _: &mut ArgCheck<'_, __S>) -> Result<(), Error> {
                Ok(())
            }
        }
    )+ };
}

// One implementation for each type: a blanket one over `DType` would make rustc speak of `DType` wherever a type is not
// passable.
scalars! {
    [] u8, [] i8, [] u16, [] i16, [] u32, [] i32, [] u64, [] i64, [] u128, [] i128,
    [] f32, [] f64,
    #[cfg(feature = "half")] [] half::f16,
    #[cfg(feature = "half")] [] half::bf16,
    [] F8E4M3, [] F8E5M2, [] Bool8,
    [T: DType,] Wrapping<T>,
    [T: DType, const N: usize,] [T; N],
    [T: bytemuck::Pod + Send + Sync,] PodElement<T>,
}

/// An integer that can hand a length to a kernel: `#[device(len_of(src))] n: u32`.
///
/// A length that does not fit is an error of the launch:
///
/// ```
/// # use escrow::{Device, DeviceContext, Error};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     safe fn count(#[len_of(y)] n: u8, y: &mut [u32]);
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(300)?;
/// let result = Set::load(ctx.device())?.count(&ctx, &mut y);
/// assert!(matches!(result, Err(Error::LengthOf { name: "n", len: 300, bits: 8 })));
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, Error};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     safe fn count(#[len_of(y)] n: f32, y: &mut [u32]); // a length is an integer
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the length of a span",
    label = "not an integer of 8 to 64 bits",
    note = "a `len_of` field or parameter is one of `u8`, `u16`, `u32`, `u64`, `i8`, `i16`, `i32`, `i64`"
)]
pub trait KernelLen: DType + len_sealed::Sealed {
    /// Width.
    #[doc(hidden)]
    const BITS: u32;

    /// The length, unless it does not fit.
    #[doc(hidden)]
    fn try_from_len(len: usize) -> Option<Self>;

    /// The length; its low bits if it does not fit, which the check of a launch has ruled out.
    #[doc(hidden)]
    fn from_len(len: usize) -> Self;

    /// Has the check of a launch see whether the length fits.
    #[doc(hidden)]
    fn check<S: StreamTag>(check: &mut ArgCheck<'_, S>, name: &'static str, len: usize) -> Result<Self, Error> {
        check.len(name, len)
    }
}

mod len_sealed {
    #[diagnostic::on_unimplemented(
        message = "`KernelLen` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
}

macro_rules! lens {
    ($($ty:ident),+) => { $(
        impl len_sealed::Sealed for $ty {}
        #[diagnostic::do_not_recommend]
        impl KernelLen for $ty {
            const BITS: u32 = $ty::BITS;

            fn try_from_len(len: usize) -> Option<$ty> {
                len.try_into().ok()
            }

            fn from_len(len: usize) -> $ty {
                len as $ty
            }
        }
    )+ };
}

lens!(u8, u16, u32, u64, i8, i16, i32, i64);
