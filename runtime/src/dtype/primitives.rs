//! The elements that the language and the crate `half` have.

use std::fmt;
use std::num::Wrapping;

use super::ctext::{Part, Text, kind};
use super::print::{print_f32, print_f64};
use super::{DType, Init};

macro_rules! integers {
    ($($ty:ident = $c:literal),+ $(,)?) => { $(
        // SAFETY: an integer, so not `MaybeUninit`.
        #[diagnostic::do_not_recommend]
        unsafe impl Init for $ty {}
        // SAFETY: integers have no padding, no invalid bits and an alignment of at most 16; the C type is the one of
        // that width and signedness on every target of CUDA.
        #[diagnostic::do_not_recommend]
        unsafe impl DType for $ty {
            const NAME: &'static str = stringify!($ty);
            const C_NAME: &'static str = $c;
            fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    )+ };
}

integers! {
    u8 = "unsigned char",
    i8 = "signed char",
    u16 = "unsigned short",
    i16 = "short",
    u32 = "unsigned int",
    i32 = "int",
    u64 = "unsigned long long",
    i64 = "long long",
    u128 = "unsigned __int128",
    i128 = "__int128",
}

macro_rules! floats {
    ($($(#[$meta:meta])* $ty:ty, $name:literal = $c:literal, $decl:literal, $print:expr;)+) => { $(
        $(#[$meta])*
        // SAFETY: a float, so not `MaybeUninit`.
        #[diagnostic::do_not_recommend]
        unsafe impl Init for $ty {}
        $(#[$meta])*
        // SAFETY: floats have no padding, no invalid bits and an alignment of at most 8; the C type is the one of the
        // same format.
        #[diagnostic::do_not_recommend]
        unsafe impl DType for $ty {
            const NAME: &'static str = $name;
            const C_NAME: &'static str = $c;
            const C_DECL: &'static str = $decl;
            fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $print(*self, f)
            }
        }
    )+ };
}

// Mojo widens the narrow formats before it prints, so their text is not the shortest for their own type.
floats! {
    f32, "f32" = "float", "", print_f32;
    f64, "f64" = "double", "", print_f64;
    #[cfg(feature = "half")]
    half::f16, "f16" = "__half", "#include <cuda_fp16.h>\n", |it: half::f16, f| print_f32(it.to_f32(), f);
    #[cfg(feature = "half")]
    half::bf16, "bf16" = "__nv_bfloat16", "#include <cuda_bf16.h>\n", |it: half::bf16, f| print_f32(it.to_f32(), f);
}

// SAFETY: `T` is written memory, so an array of it is.
#[diagnostic::do_not_recommend]
unsafe impl<T: Init, const N: usize> Init for [T; N] {}
// SAFETY: arrays have no padding between elements; all else holds for `T` and so for `[T; N]`, but a size over zero,
// which `VALID` checks. C has the same layout for `T name[N]`.
#[diagnostic::do_not_recommend]
unsafe impl<T: DType, const N: usize> DType for [T; N] {
    const NAME: &'static str = <Self as Text<kind::Name>>::STR;
    const C_NAME: &'static str = T::C_NAME;
    const C_DIMS: &'static str = <Self as Text<kind::CDims>>::STR;
    const C_DECL: &'static str = T::C_DECL;

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, item) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            item.print(f)?;
        }
        f.write_str("]")
    }
}

impl<T: DType, const N: usize> Text<kind::Name> for [T; N] {
    const PARTS: &'static [Part] =
        &[Part::Str("["), Part::Str(T::NAME), Part::Str("; "), Part::Number(N as i128), Part::Str("]")];
}

impl<T: DType, const N: usize> Text<kind::CDims> for [T; N] {
    const PARTS: &'static [Part] = &[Part::Str("["), Part::Number(N as i128), Part::Str("]"), Part::Str(T::C_DIMS)];
}

// SAFETY: `T` is written memory, and `Wrapping` is `repr(transparent)`.
#[diagnostic::do_not_recommend]
unsafe impl<T: Init> Init for Wrapping<T> {}
// SAFETY: `Wrapping<T>` is `repr(transparent)`, so everything that holds for `T` holds for it.
#[diagnostic::do_not_recommend]
unsafe impl<T: DType> DType for Wrapping<T> {
    const NAME: &'static str = <Self as Text<kind::Name>>::STR;
    const C_NAME: &'static str = T::C_NAME;
    const C_DIMS: &'static str = T::C_DIMS;
    const C_DECL: &'static str = T::C_DECL;

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print(f)
    }
}

impl<T: DType> Text<kind::Name> for Wrapping<T> {
    const PARTS: &'static [Part] = &[Part::Str("Wrapping<"), Part::Str(T::NAME), Part::Str(">")];
}
