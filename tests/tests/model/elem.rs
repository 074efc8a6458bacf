//! Element types that programs run with.

use std::fmt::Debug;

use escrow::{Bool8, DType, DeviceBuffer, DeviceContext, Error, StreamTag};

/// An element that can be made of a number, so that wrong bytes show.
pub trait Elem: DType + PartialEq + Debug {
    fn make(value: u64) -> Self;

    /// Enqueues the kernel of [`Elem::mixed`] for each element, if there is one for this type.
    fn enqueue_mix<S: StreamTag>(
        _: &DeviceContext<S>,
        _: &mut DeviceBuffer<Self, S>,
        _: &DeviceBuffer<Self, S>,
    ) -> Option<Result<(), Error>> {
        None
    }

    /// What the kernel makes of one element.
    fn mixed(self, _: Self) -> Self {
        self
    }
}

impl Elem for u32 {
    fn make(value: u64) -> u32 {
        value as u32
    }

    fn enqueue_mix<S: StreamTag>(
        ctx: &DeviceContext<S>,
        dst: &mut DeviceBuffer<u32, S>,
        src: &DeviceBuffer<u32, S>,
    ) -> Option<Result<(), Error>> {
        Some(escrow_tests::enqueue_mix(ctx, dst, src))
    }

    fn mixed(self, src: u32) -> u32 {
        escrow_tests::mixed(self, src)
    }
}

impl Elem for u8 {
    fn make(value: u64) -> u8 {
        value as u8
    }
}

impl Elem for Bool8 {
    fn make(value: u64) -> Bool8 {
        Bool8::from(value % 2 == 1)
    }
}

impl Elem for u128 {
    fn make(value: u64) -> u128 {
        u128::from(value) << 64 | u128::from(!value)
    }
}

impl Elem for [u16; 3] {
    fn make(value: u64) -> [u16; 3] {
        [value as u16, (value >> 16) as u16, (value >> 32) as u16]
    }
}

/// Larger than what an operation carries in place.
impl Elem for [u64; 20] {
    fn make(value: u64) -> [u64; 20] {
        std::array::from_fn(|i| value.rotate_left(i as u32))
    }
}
