//! Plain data of other crates.

use std::fmt;

use super::ctext::{Part, Text, kind};
use super::{DType, Init};

/// Makes an element of a plain-data type that another crate declares, and that it says is [`bytemuck::Pod`].
///
/// A kernel sees a struct of so many bytes, `escrow_pod_SIZE_ALIGN { unsigned char bytes[SIZE]; }`.
///
/// ```
/// use escrow::{DType, PodElement};
///
/// # #[derive(Clone, Copy)] #[repr(C)] struct Vec3(f32, f32, f32);
/// # unsafe impl bytemuck::Zeroable for Vec3 {}
/// # unsafe impl bytemuck::Pod for Vec3 {}
/// let it = PodElement(Vec3(1.0, 2.0, 3.0));
/// assert_eq!(it.0.2, 3.0);
/// assert_eq!(PodElement::<Vec3>::SIZE, 12);
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, PodElement};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flags = ctx.create_host_buffer::<PodElement<bool>>(8)?; // `bool` is not `Pod`
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PodElement<T>(
    /// The value.
    pub T,
);

impl<T> PodElement<T> {
    /// Wraps a value.
    ///
    /// ```
    /// # use escrow::PodElement;
    /// const ONE: PodElement<u32> = PodElement::new(1);
    /// assert_eq!(ONE, PodElement(1));
    /// ```
    pub const fn new(value: T) -> PodElement<T> {
        PodElement(value)
    }

    /// The value.
    ///
    /// ```
    /// # use escrow::PodElement;
    /// assert_eq!(PodElement::from(7u64).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> From<T> for PodElement<T> {
    fn from(value: T) -> PodElement<T> {
        PodElement(value)
    }
}

// SAFETY: `repr(transparent)` over a type for which zero is valid.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for PodElement<T> {}
// SAFETY: `repr(transparent)` over a `Pod` type.
unsafe impl<T: bytemuck::Pod> bytemuck::Pod for PodElement<T> {}
// SAFETY: `Pod` types have no uninitialised bytes, and `MaybeUninit` is not one.
#[diagnostic::do_not_recommend]
unsafe impl<T: bytemuck::Pod> Init for PodElement<T> {}
// SAFETY: `Pod` promises no padding, every pattern of bits valid, no pointers and no interior mutability; size and
// alignment are checked by `VALID`.
#[diagnostic::do_not_recommend]
unsafe impl<T: bytemuck::Pod + Send + Sync> DType for PodElement<T> {
    // The name of `T` is not known to a constant.
    const NAME: &'static str = "PodElement";
    const C_NAME: &'static str = <Self as Text<kind::CName>>::STR;
    const C_DECL: &'static str = <Self as Text<kind::CDecl>>::STR;

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PodElement(")?;
        for byte in bytemuck::bytes_of(&self.0) {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

impl<T> Text<kind::CName> for PodElement<T> {
    const PARTS: &'static [Part] = &[
        Part::Str("escrow_pod_"),
        Part::Number(size_of::<T>() as i128),
        Part::Str("_"),
        Part::Number(align_of::<T>() as i128),
    ];
}

impl<T> Text<kind::CDecl> for PodElement<T> {
    const PARTS: &'static [Part] = &[
        Part::Str("#ifndef ESCROW_DECL_"),
        Part::Str(<Self as Text<kind::CName>>::STR),
        Part::Str("\n#define ESCROW_DECL_"),
        Part::Str(<Self as Text<kind::CName>>::STR),
        Part::Str("\nstruct alignas("),
        Part::Number(align_of::<T>() as i128),
        Part::Str(") "),
        Part::Str(<Self as Text<kind::CName>>::STR),
        Part::Str(" {\n    unsigned char bytes["),
        Part::Number(size_of::<T>() as i128),
        Part::Str("];\n};\n#endif\n"),
    ];
}
