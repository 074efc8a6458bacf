//! Element types: what host and device agree on, byte by byte.

mod bool8;
pub(crate) mod ctext;
mod float8;
mod pod;
mod primitives;
pub(crate) mod print;

use std::fmt;

pub use bool8::Bool8;
pub use float8::{F8E4M3, F8E5M2};
pub use pod::PodElement;

/// Memory of this type was written.
///
/// Device memory fresh from `enqueue_create_buffer` is a `DeviceBuffer<MaybeUninit<T>>`. `MaybeUninit` is not `Init`, so
/// nothing that reads accepts such a buffer. Every [`DType`] is `Init`.
///
/// ```
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Error, Init};
/// fn sum<T: Init + Copy + Into<f64>>(dev: &DeviceBuffer<T>) -> Result<f64, Error> {
///     Ok(dev.to_vec()?.into_iter().map(Into::into).sum())
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer::<f32>(4)?.enqueue_fill(1.5)?; // written
/// assert_eq!(sum(&dev)?, 6.0);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let raw = ctx.enqueue_create_buffer::<f32>(4)?;
/// let shared = raw.into_shared()?; // never written, and nobody could write it any more
/// # Ok(()) }
/// ```
///
/// # Safety
/// The type is a [`DType`], and not `MaybeUninit`.
#[diagnostic::on_unimplemented(
    message = "device memory of `{Self}` is read here, but nothing has written it yet",
    label = "never written",
    note = "`enqueue_fill` it, copy into it, or pass it by value as a kernel's `out` argument: each gives the buffer back as written (`unsafe assume_init` if you know better)"
)]
pub unsafe trait Init {}

/// The type of a buffer's elements.
///
/// All integers and floats of fixed width, [`f16`](half::f16) and [`bf16`](half::bf16) (crate `half`, feature `half`),
/// [`F8E4M3`], [`F8E5M2`], [`Bool8`], [`Wrapping`](std::num::Wrapping), arrays of elements, and structs with
/// `#[derive(DType)]`. A plain-data type of another crate becomes an element inside of [`PodElement`].
///
/// ```
/// use escrow::DType;
///
/// #[derive(Clone, Copy, DType)]
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     charge: i32,
/// }
///
/// assert_eq!(Particle::NAME, "Particle");
/// assert_eq!(Particle::SIZE, 16);
/// assert_eq!((<[f32; 3]>::C_NAME, <[f32; 3]>::C_DIMS), ("float", "[3]"));
/// assert!(Particle::C_DECL.contains("static_assert(sizeof(Particle) == 16"));
/// ```
///
/// Padding is spelt out, and what has invalid bit patterns is no element:
///
/// ```
/// use escrow::DType;
///
/// #[derive(Clone, Copy, DType)]
/// #[repr(C)]
/// struct Sample {
///     kind: u8,
///     unused: [u8; 3], // what would be padding
///     value: f32,
/// }
/// assert_eq!(Sample::SIZE, 8);
/// ```
///
/// ```compile_fail,E0080
/// # use escrow::{Device, DeviceContext, DType};
/// #[derive(Clone, Copy, DType)]
/// #[repr(C)]
/// struct Sample {
///     kind: u8,
///     value: f32, // three bytes of padding before this
/// }
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flags = ctx.enqueue_create_buffer_zeroed::<bool>(8)?; // `Bool8`
/// # Ok(()) }
/// ```
///
/// # Safety
/// Whoever writes `unsafe impl DType` promises, for the type:
/// - it is plain data: no pointer, reference or handle that another address space would break, and no interior
///   mutability;
/// - it has no padding, and every pattern of bits is a valid value: `bool`, `char`, enums and `NonZero` types are out;
/// - its size is not zero and its alignment is at most 16;
/// - `SIZE`, `ALIGN` and `VALID` keep their defaults, and `C_NAME` with `C_DIMS` names a CUDA C type of the same size,
///   alignment and meaning, which the text in `C_DECL` declares if the language does not.
///
/// `#[derive(DType)]` proves all of these and needs no `unsafe`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the element type of a buffer",
    label = "not plain data that host and device agree on",
    note = "elements are integers and floats of fixed width, `f16`, `bf16`, `F8E4M3`, `F8E5M2`, `Bool8` (for `bool`), arrays of these, and your own structs with `#[derive(Clone, Copy, DType)]` and `#[repr(C)]`; for plain data of another crate: `PodElement<T>`, if `T: bytemuck::Pod`",
    note = "`bool`, `char`, `usize`, enums and references are not: a copy from the device could break them, or they are not the same everywhere",
    note = "if this says `MaybeUninit<_>`, name the element type where the buffer is created: `enqueue_create_buffer_zeroed::<f32>(n)`"
)]
pub unsafe trait DType: Init + Copy + Send + Sync + 'static {
    /// Name of the type as Rust writes it.
    const NAME: &'static str;
    /// Size in bytes.
    const SIZE: usize = size_of::<Self>();
    /// Alignment in bytes.
    const ALIGN: usize = align_of::<Self>();
    /// The CUDA C type: `float`, `unsigned char`, `__half`, the name of a struct. For an array, that of what it is made
    /// of.
    const C_NAME: &'static str;
    /// What follows the name of a variable of this type in CUDA C: `[4][3]` for `[[T; 3]; 4]`.
    const C_DIMS: &'static str = "";
    /// What must stand in front of the first use of [`C_NAME`](DType::C_NAME) in a CUDA C++ file: for a derived struct
    /// its declaration, with `static_assert`s on size, alignment and offsets and the declarations of what is inside.
    /// Each is guarded, so that several texts can be put into one file.
    const C_DECL: &'static str = "";
    /// Fails the build for types that no buffer can hold. Constructors and views evaluate it: `const { T::VALID }`.
    #[doc(hidden)]
    const VALID: () = ctext::check_valid(Self::NAME, size_of::<Self>(), align_of::<Self>());

    /// Writes one element as Mojo prints it.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DType};
    /// # use std::fmt;
    /// struct Shown<T>(T);
    /// impl<T: DType> fmt::Display for Shown<T> {
    ///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    ///         self.0.print(f)
    ///     }
    /// }
    /// assert_eq!(Shown(1.0f32).to_string(), "1.0");
    /// assert_eq!(Shown(u8::MAX).to_string(), "255");
    /// ```
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}
