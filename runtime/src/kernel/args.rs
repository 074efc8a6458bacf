//! What kernels take.

use std::mem::MaybeUninit;

use crate::device_buffer::DeviceBuffer;
use crate::dtype::DType;
use crate::dtype::ctext::{Part, Text};
use crate::error::Error;
use crate::kernel::{ArgCheck, DeviceLayout, DevicePassable, KernelSpan, KernelSpanMut};
use crate::pointer::TrustedPtr;
use crate::region::Candidate;
use crate::shared_device::SharedDeviceBuffer;
use crate::span::{DeviceSpan, DeviceSpanMut};
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory that a kernel can read",
    label = "a kernel cannot read this",
    note = "pass `&` of a `DeviceBuffer`, `DeviceSpan`, `DeviceSpanMut` or `SharedDeviceBuffer` of the launching context's stream; host memory is copied to the device first"
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory that a kernel can write",
    label = "a kernel cannot write this",
    note = "pass `&mut` of a `DeviceBuffer` or `DeviceSpanMut` of the launching context's stream; host memory is copied to the device first, a shared buffer goes through `try_unshare` first"
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an `out` argument of a kernel",
    label = "a kernel cannot write this as a whole",
    note = "pass a `DeviceBuffer<MaybeUninit<_>>` by value (it comes back written), or `&mut` of a written `DeviceBuffer`, or a `DeviceSpanMut`"
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
    DeviceWrite, write, DeviceBuffer<>;
    DeviceWrite, write, DeviceSpanMut<'_>;
}

macro_rules! outs {
    ($($t:ty, $written:ty, $this:ident => $result:expr;)+) => { $(
        impl<T: DType, S: StreamTag> out::Sealed for $t {}
        impl<T: DType, S: StreamTag> KernelOut for $t {
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
    DeviceBuffer<MaybeUninit<T>, S>, DeviceBuffer<T, S>, self => unsafe { self.assume_init() };
    &mut DeviceBuffer<T, S>, (), self => ();
    DeviceSpanMut<'_, T, S>, (), self => ();
    // A part of a buffer: the whole stays `MaybeUninit`.
    DeviceSpanMut<'_, MaybeUninit<T>, S>, (), self => ();
}

/// C declarators of pointers. Those to arrays need parentheses: `float (*x)[3]`.
struct Pointer<T, const CONST: bool>(T);

impl<T: DType, const CONST: bool> Pointer<T, CONST> {
    const IS_ARRAY: bool = !T::C_DIMS.is_empty();
    const DIMS: &'static str = if Self::IS_ARRAY { <PointerDims<T> as Text>::STR } else { "" };
}

impl<T: DType, const CONST: bool> Text for Pointer<T, CONST> {
    const PARTS: &'static [Part] = &[
        Part::Str(if CONST { "const " } else { "" }),
        Part::Str(T::C_NAME),
        Part::Str(if Self::IS_ARRAY { " (*" } else { " *" }),
    ];
}

struct PointerDims<T>(T);

impl<T: DType> Text for PointerDims<T> {
    const PARTS: &'static [Part] = &[Part::Str(")"), Part::Str(T::C_DIMS)];
}

struct TypeName<T, const KIND: u8>(T);

impl<T: DType, const KIND: u8> Text for TypeName<T, KIND> {
    const PARTS: &'static [Part] = &[
        Part::Str(match KIND {
            0 => "DeviceSpan<",
            1 => "DeviceSpanMut<",
            _ => "TrustedPtr<",
        }),
        Part::Str(T::NAME),
        Part::Str(">"),
    ];
}

/// An address as a kernel parameter: null where there are no elements.
fn address(operand: Candidate<'_>, check: impl FnOnce(Candidate<'_>) -> *mut u8) -> u64 {
    if operand.len() == 0 { 0 } else { check(operand).expose_provenance() as u64 }
}

macro_rules! spans {
    ($([$($elem:tt)*] $t:ident, $body:ident, $constant:literal, $kind:literal;)+) => { $(
        // SAFETY: `DeviceType` is a 64-bit address and the C type a pointer to the element's C type. The address is the
        // one that `visit` shows.
        unsafe impl<T: DType, S: StreamTag> DeviceLayout for $t<'_, $($elem)*, S> {
            type DeviceType = u64;
            type Body<'k> = $body<'k, T>;
            const TYPE_NAME: &'static str = <TypeName<T, $kind> as Text>::STR;
            const C_NAME: &'static str = <Pointer<T, $constant> as Text>::STR;
            const C_DIMS: &'static str = Pointer::<T, $constant>::DIMS;
            const C_DECL: &'static str = T::C_DECL;

            #[inline]
            unsafe fn to_device(&self) -> u64 {
                // SAFETY: the caller has had this span visited.
                address(self.operand(), |operand| unsafe { operand.visited() })
            }

            #[inline]
            unsafe fn to_body<'k>(&self) -> Self::Body<'k> {
                let operand = self.operand();
                // SAFETY: the caller has had this span visited, and promises the accesses. Elements are initialised also
                // where nothing has written them, as all memory of the CPU device is.
                unsafe { $body::new(operand.visited().cast(), operand.len()) }
            }
        }

        // SAFETY: the one span is shown.
        unsafe impl<T: DType, S: StreamTag> DevicePassable<S> for $t<'_, $($elem)*, S> {
            #[inline]
            fn visit(&self, check: &mut ArgCheck<'_, S>) -> Result<(), Error> {
                check.admit(self.operand()).map(|_| ())
            }
        }
    )+ };
}

spans! {
    [T] DeviceSpan, KernelSpan, true, 0;
    [T] DeviceSpanMut, KernelSpanMut, false, 1;
    [MaybeUninit<T>] DeviceSpanMut, KernelSpanMut, false, 1;
}

// SAFETY: a pointer is a 64-bit address. There is no span inside; whoever called `trust` answers for the memory.
unsafe impl<T: DType> DeviceLayout for TrustedPtr<T> {
    type DeviceType = u64;
    type Body<'k> = Self;
    const TYPE_NAME: &'static str = <TypeName<T, 2> as Text>::STR;
    const C_NAME: &'static str = <Pointer<T, false> as Text>::STR;
    const C_DIMS: &'static str = Pointer::<T, false>::DIMS;
    const C_DECL: &'static str = T::C_DECL;

    unsafe fn to_device(&self) -> u64 {
        self.as_ptr().expose_provenance() as u64
    }

    unsafe fn to_body<'k>(&self) -> Self {
        *self
    }
}

// SAFETY: there is no span inside.
unsafe impl<T: DType, S: StreamTag> DevicePassable<S> for TrustedPtr<T> {
    fn visit(&self, _: &mut ArgCheck<'_, S>) -> Result<(), Error> {
        Ok(())
    }
}
