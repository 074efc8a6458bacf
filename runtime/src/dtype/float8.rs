//! The two 8-bit floats of the OCP standard.

use std::cmp::Ordering;
use std::fmt;

use super::print::print_f32;
use super::{DType, Init};

/// Magnitude of `value` in a format of `mantissa` bits and exponent bias `bias`, rounded to nearest, ties to even. Too
/// large values give codes beyond the format. Not for NaN.
const fn magnitude(value: f32, mantissa: u32, bias: u32) -> u32 {
    let bits = value.to_bits() & 0x7fff_ffff;
    let smallest_normal = (127 + 1 - bias) << 23;
    if bits < smallest_normal {
        // In units of the smallest subnormal. Adding 2^23 leaves no bits for a fraction, so the addition rounds.
        let unit = f32::from_bits((127 + bias - 1 + mantissa) << 23);
        let rounded = f32::from_bits(bits) * unit + 8_388_608.0;
        return rounded.to_bits() & 0x007f_ffff;
    }
    let shift = 23 - mantissa;
    let tie_to_even = (1 << (shift - 1)) - 1 + ((bits >> shift) & 1);
    ((bits + tie_to_even) >> shift) - ((127 - bias) << mantissa)
}

/// The value of a code that is finite.
const fn widen(code: u8, mantissa: u32, bias: u32) -> f32 {
    let sign = ((code as u32) & 0x80) << 24;
    let bits = (code as u32) & 0x7f;
    let positive = if bits >> mantissa == 0 {
        bits as f32 * f32::from_bits((127 + 1 - bias - mantissa) << 23)
    } else {
        f32::from_bits((bits << (23 - mantissa)) + ((127 - bias) << 23))
    };
    f32::from_bits(positive.to_bits() | sign)
}

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $c:literal, mantissa $mantissa:literal, bias $bias:literal, max $max:literal,
     over $over:literal, nan $nan:literal, |$code:ident| $special:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The largest finite value.
            pub const MAX: $name = $name($max);
            /// A value that is not a number.
            pub const NAN: $name = $name($nan);

            /// Any byte.
            ///
            /// ```
            #[doc = concat!("# use escrow::", stringify!($name), " as F8;")]
            /// assert_eq!(F8::from_bits(0x80).to_f32(), -0.0);
            /// assert!(F8::from_bits(0x80).to_f32().is_sign_negative());
            /// ```
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits)
            }

            /// The byte as it is.
            ///
            /// ```
            #[doc = concat!("# use escrow::", stringify!($name), " as F8;")]
            /// assert_eq!(F8::from_f32(-0.0).to_bits(), 0x80); // sign, exponent, mantissa
            /// ```
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The same value: every value of this format is one of `f32`.
            ///
            /// ```
            #[doc = concat!("# use escrow::", stringify!($name), " as F8;")]
            /// assert_eq!(F8::from_f32(1.5).to_f32(), 1.5);
            /// ```
            pub const fn to_f32(self) -> f32 {
                let $code = self.0;
                match $special {
                    Some(special) => special,
                    None => widen(self.0, $mantissa, $bias),
                }
            }

            /// The nearest value, ties to even. What rounds to more than [`MAX`](Self::MAX) overflows as the type's
            /// page says.
            ///
            /// ```
            #[doc = concat!("# use escrow::", stringify!($name), " as F8;")]
            /// assert_eq!(F8::from_f32(0.3).to_f32(), 0.3125);
            /// assert!(F8::from_f32(f32::NAN).to_f32().is_nan());
            /// ```
            pub const fn from_f32(value: f32) -> $name {
                $name::narrow(value, $over)
            }

            /// The nearest value, ties to even; what is larger than [`MAX`](Self::MAX), infinity too, becomes `MAX`
            /// with its sign. NaN stays NaN.
            ///
            /// ```
            #[doc = concat!("# use escrow::", stringify!($name), " as F8;")]
            /// assert_eq!(F8::from_f32_saturating(-1e9).to_f32(), -F8::MAX.to_f32());
            /// assert_eq!(F8::from_f32_saturating(f32::INFINITY), F8::MAX);
            /// ```
            pub const fn from_f32_saturating(value: f32) -> $name {
                $name::narrow(value, $max)
            }

            const fn narrow(value: f32, over: u8) -> $name {
                let sign = (value.to_bits() >> 24) as u8 & 0x80;
                if value.is_nan() {
                    return $name(sign | $nan);
                }
                let code = magnitude(value, $mantissa, $bias);
                $name(sign | if code > $max { over } else { code as u8 })
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        // SAFETY: `repr(transparent)` over `u8`, for which zero is valid.
        unsafe impl bytemuck::Zeroable for $name {}
        // SAFETY: `repr(transparent)` over `u8`, with every byte valid.
        unsafe impl bytemuck::Pod for $name {}
        // SAFETY: a byte, so not `MaybeUninit`.
        #[diagnostic::do_not_recommend]
        unsafe impl Init for $name {}
        // SAFETY: `repr(transparent)` over `u8`, with every byte valid; the C type has the same format.
        #[diagnostic::do_not_recommend]
        unsafe impl DType for $name {
            const NAME: &'static str = stringify!($name);
            const C_NAME: &'static str = $c;
            const C_DECL: &'static str = "#include <cuda_fp8.h>\n";

            fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print_f32(self.to_f32(), f)
            }
        }
    };
}

float8! {
    /// An 8-bit float with 4 bits of exponent and 3 of mantissa (OCP E4M3, "fn"): up to 448, no infinities.
    ///
    /// [`from_f32`](F8E4M3::from_f32) turns what rounds to more than 448, infinity too, into NaN, since there is no
    /// infinity; [`from_f32_saturating`](F8E4M3::from_f32_saturating) into 448, as CUDA's own conversion does.
    ///
    /// ```
    /// use escrow::F8E4M3;
    /// assert_eq!(F8E4M3::from_f32(0.3).to_f32(), 0.3125);
    /// assert!(F8E4M3::from_f32(1000.0).to_f32().is_nan());
    /// assert_eq!(F8E4M3::from_f32_saturating(1000.0), F8E4M3::MAX);
    /// ```
    F8E4M3, "__nv_fp8_e4m3", mantissa 3, bias 7, max 0x7e, over 0x7f, nan 0x7f,
    |code| if code & 0x7f == 0x7f { Some(f32::NAN) } else { None }
}

float8! {
    /// An 8-bit float with 5 bits of exponent and 2 of mantissa (OCP E5M2): up to 57344, with infinities.
    ///
    /// [`from_f32`](F8E5M2::from_f32) turns what rounds to more than 57344 into infinity;
    /// [`from_f32_saturating`](F8E5M2::from_f32_saturating) into 57344, as CUDA's own conversion does.
    ///
    /// ```
    /// use escrow::F8E5M2;
    /// assert_eq!(F8E5M2::from_f32(0.3).to_f32(), 0.3125);
    /// assert_eq!(F8E5M2::from_f32(1e9).to_f32(), f32::INFINITY);
    /// assert_eq!(F8E5M2::from_f32_saturating(1e9), F8E5M2::MAX);
    /// ```
    F8E5M2, "__nv_fp8_e5m2", mantissa 2, bias 15, max 0x7b, over 0x7c, nan 0x7f,
    |code| match code {
        0x7c => Some(f32::INFINITY),
        0xfc => Some(f32::NEG_INFINITY),
        0x7d..=0x7f | 0xfd..=0xff => Some(f32::NAN),
        _ => None,
    }
}
