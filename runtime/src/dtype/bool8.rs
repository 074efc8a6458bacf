//! A truth value of one byte.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::{DType, Init};

/// A truth value of one byte whose every pattern of bits is valid, which Rust's `bool` is not.
///
/// The low bit decides, as in Mojo: a byte of 2 that a kernel left behind is `false`. Two values with the same low bit
/// are equal. A kernel sees an `unsigned char`.
///
/// ```
/// use escrow::Bool8;
/// assert!(Bool8::new(true).get());
/// assert_eq!(Bool8::from_bits(2), Bool8::from(false));
/// assert_eq!(Bool8::new(true).to_string(), "True");
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let flags = ctx.create_host_buffer::<bool>(8)?; // a device could leave a 2 there
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    /// `1` or `0`.
    ///
    /// ```
    /// # use escrow::Bool8;
    /// assert_eq!(Bool8::new(true).to_bits(), 1);
    /// ```
    pub const fn new(value: bool) -> Bool8 {
        Bool8(value as u8)
    }

    /// Any byte.
    ///
    /// ```
    /// # use escrow::Bool8;
    /// assert_eq!(Bool8::from_bits(3), Bool8::new(true)); // the low bit decides
    /// ```
    pub const fn from_bits(bits: u8) -> Bool8 {
        Bool8(bits)
    }

    /// The byte as it is.
    ///
    /// ```
    /// # use escrow::Bool8;
    /// assert_eq!(Bool8::from_bits(6).to_bits(), 6); // not tidied up
    /// ```
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Whether the low bit is set.
    ///
    /// ```
    /// # use escrow::Bool8;
    /// assert!(Bool8::from_bits(0xff).get() && !Bool8::from_bits(0xfe).get());
    /// ```
    pub const fn get(self) -> bool {
        self.0 & 1 == 1
    }
}

impl From<bool> for Bool8 {
    fn from(value: bool) -> Bool8 {
        Bool8::new(value)
    }
}

impl From<Bool8> for bool {
    fn from(value: Bool8) -> bool {
        value.get()
    }
}

impl PartialEq for Bool8 {
    fn eq(&self, other: &Bool8) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool8 {}

impl PartialEq<bool> for Bool8 {
    fn eq(&self, other: &bool) -> bool {
        self.get() == *other
    }
}

impl Hash for Bool8 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl fmt::Display for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.get() { "True" } else { "False" })
    }
}

// SAFETY: `repr(transparent)` over `u8`, for which zero is valid.
unsafe impl bytemuck::Zeroable for Bool8 {}
// SAFETY: `repr(transparent)` over `u8`, with every byte valid.
unsafe impl bytemuck::Pod for Bool8 {}
// SAFETY: a byte, so not `MaybeUninit`.
#[diagnostic::do_not_recommend]
unsafe impl Init for Bool8 {}
// SAFETY: `repr(transparent)` over `u8`, with every byte valid.
#[diagnostic::do_not_recommend]
unsafe impl DType for Bool8 {
    const NAME: &'static str = "Bool8";
    const C_NAME: &'static str = "unsigned char";

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.get() { "True" } else { "False" })
    }
}
