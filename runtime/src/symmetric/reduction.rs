//! Reductions: what they do to two elements.

mod op {
    #[diagnostic::on_unimplemented(
        message = "`Reduction` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed<T> {}
}

/// A reduction over elements of `T`: [`Sum`](crate::shmem::Sum), [`Prod`](crate::shmem::Prod), [`Min`](crate::shmem::Min)
/// and [`Max`](crate::shmem::Max) of integers and floats, [`And`](crate::shmem::And), [`Or`](crate::shmem::Or) and
/// [`Xor`](crate::shmem::Xor) of integers.
///
/// Integers wrap around. The order is that of the team's PEs, so floats come out the same on every PE, run and engine of the
/// CPU. `Min` and `Max` of floats prefer a number to a NaN.
///
/// ```
/// # use escrow::{Error, Reduction, ShmemContext, shmem::{self, Max, Sum}};
/// fn over_all<O: Reduction<f64>>(job: &ShmemContext, op: O) -> Result<f64, Error> {
///     let mine = job.create_buffer::<f64>(1)?.enqueue_fill(job.my_pe() as f64)?;
///     let mut all = job.create_buffer_zeroed::<f64>(1)?;
///     job.world().reduce(op, &mine, &mut all)?;
///     Ok(all.to_vec()?[0])
/// }
/// assert_eq!(shmem::launch(3, |job| Ok((over_all(job, Sum)?, over_all(job, Max)?)))?, [(3.0, 2.0); 3]);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::{Error, ShmemBuffer, ShmemContext, shmem::And};
/// fn bits(job: &ShmemContext, src: &ShmemBuffer<'_, f32>, dst: &mut ShmemBuffer<'_, f32>) -> Result<(), Error> {
///     job.world().reduce(And, src, dst) // floats have no bits to combine
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{T}` has no reduction `{Self}`",
    label = "not defined for `{T}`",
    note = "`And`, `Or` and `Xor` are for integers; `Sum`, `Prod`, `Min` and `Max` for integers and floats"
)]
pub trait Reduction<T>: op::Sealed<T> + Copy {
    #[doc(hidden)]
    const NUMBER: u64;
    /// The operation, as NVSHMEM names it.
    #[doc(hidden)]
    const NAME: &'static str;
    /// The element type, as NVSHMEM names it.
    #[doc(hidden)]
    const ELEM: &'static str;
    #[doc(hidden)]
    fn apply(a: T, b: T) -> T;
}

macro_rules! ops {
    ($($(#[$doc:meta])* $op:ident $name:literal = $number:literal: [$($t:ty as $tn:literal),*] |$a:ident, $b:ident| $int:expr, [$($f:ty as $fn:literal),*] $float:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $op;
        $(
            impl op::Sealed<$t> for $op {}
            #[diagnostic::do_not_recommend]
            impl Reduction<$t> for $op {
                const NUMBER: u64 = $number;
                const NAME: &'static str = $name;
                const ELEM: &'static str = $tn;
                #[inline]
                fn apply($a: $t, $b: $t) -> $t { $int }
            }
        )*
        $(
            impl op::Sealed<$f> for $op {}
            #[diagnostic::do_not_recommend]
            impl Reduction<$f> for $op {
                const NUMBER: u64 = $number;
                const NAME: &'static str = $name;
                const ELEM: &'static str = $fn;
                #[inline]
                fn apply($a: $f, $b: $f) -> $f { $float }
            }
        )*
    )+ };
}

ops! {
    /// The sum.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::Sum};
    /// fn of_floats<O: Reduction<f32>>(_: O) {}
    /// of_floats(Sum);
    /// ```
    Sum "sum" = 1: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a.wrapping_add(b), [f32 as "float", f64 as "double"] a + b;
    /// The product.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::Prod};
    /// fn of_floats<O: Reduction<f32>>(_: O) {}
    /// of_floats(Prod);
    /// ```
    Prod "prod" = 2: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a.wrapping_mul(b), [f32 as "float", f64 as "double"] a * b;
    /// The smallest.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::Min};
    /// fn of_floats<O: Reduction<f32>>(_: O) {}
    /// of_floats(Min);
    /// ```
    Min "min" = 3: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a.min(b), [f32 as "float", f64 as "double"] a.min(b);
    /// The largest.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::Max};
    /// fn of_floats<O: Reduction<f32>>(_: O) {}
    /// of_floats(Max);
    /// ```
    Max "max" = 4: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a.max(b), [f32 as "float", f64 as "double"] a.max(b);
    /// The bits that all have.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::And};
    /// fn of_integers<O: Reduction<u32>>(_: O) {}
    /// of_integers(And);
    /// ```
    And "and" = 5: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a & b, [] 0;
    /// The bits that one has.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::Or};
    /// fn of_integers<O: Reduction<u32>>(_: O) {}
    /// of_integers(Or);
    /// ```
    Or "or" = 6: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a | b, [] 0;
    /// The bits that an odd number has.
    ///
    /// ```
    /// # use escrow::{Reduction, shmem::Xor};
    /// fn of_integers<O: Reduction<u32>>(_: O) {}
    /// of_integers(Xor);
    /// ```
    Xor "xor" = 7: [i8 as "int8", u8 as "uint8", i16 as "int16", u16 as "uint16", i32 as "int32", u32 as "uint32", i64 as "int64", u64 as "uint64", isize as "int64", usize as "uint64"] |a, b| a ^ b, [] 0;
}

#[cfg(feature = "half")]
macro_rules! halves {
    ($($t:ty as $elem:literal),+) => { $(
        halves!(@ $t, $elem, Sum "sum" = 1, |a, b| a + b);
        halves!(@ $t, $elem, Prod "prod" = 2, |a, b| a * b);
        halves!(@ $t, $elem, Min "min" = 3, |a, b| a.min(b));
        halves!(@ $t, $elem, Max "max" = 4, |a, b| a.max(b));
    )+ };
    (@ $t:ty, $elem:literal, $op:ident $name:literal = $number:literal, |$a:ident, $b:ident| $result:expr) => {
        impl op::Sealed<$t> for $op {}
        #[diagnostic::do_not_recommend]
        impl Reduction<$t> for $op {
            const NUMBER: u64 = $number;
            const NAME: &'static str = $name;
            const ELEM: &'static str = $elem;
            #[inline]
            fn apply($a: $t, $b: $t) -> $t { $result }
        }
    };
}
#[cfg(feature = "half")]
halves!(half::f16 as "half", half::bf16 as "bfloat16");

/// Combines `from` into `into`, element by element.
///
/// # Safety
/// Both are valid for `len` elements of `T` and aligned, do not overlap, and nobody else uses them.
pub(super) unsafe fn combine<T: Copy, O: Reduction<T>>(into: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's duty.
    let (into, from) = unsafe {
        (std::slice::from_raw_parts_mut(into.cast::<T>(), len), std::slice::from_raw_parts(from.cast::<T>(), len))
    };
    for (into, from) in into.iter_mut().zip(from) {
        *into = O::apply(*into, *from);
    }
}
