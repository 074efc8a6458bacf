//! SHMEM programs that check their own results, for every engine: the PEs of `local` are threads, those of `openshmem`
//! processes.

use std::fmt::Debug;

use escrow::{Bool8, DType, Device, Dyn, Error, F8E5M2, ShmemContext, shmem};
use half::{bf16, f16};

mod collectives;
mod endings;
mod memory;
mod remote;

/// What each PE runs. It panics where a result is wrong.
pub type Program = fn(&ShmemContext) -> Result<(), Error>;

/// Programs that end well with any number of PEs.
pub const GOOD: &[(&str, Program)] = &[
    ("puts_and_gets", remote::puts_and_gets),
    ("large_and_odd_sizes", remote::large_and_odd_sizes),
    ("elements", remote::elements),
    ("strides", remote::strides),
    ("put_with_signal", remote::put_with_signal),
    ("signals", remote::signals),
    ("atomics", remote::atomics),
    ("order", remote::order),
    ("world_collectives", collectives::world),
    ("team_collectives", collectives::teams),
    ("phases", memory::phases),
    ("swapped_fields", memory::swapped_fields),
    ("no_elements", memory::no_elements),
    ("drops_in_any_order", memory::drops_in_any_order),
    ("full_heap", memory::full_heap),
    ("errors_of_arguments", memory::errors_of_arguments),
];

/// Programs after which the job is over, in one way or another; for 2 PEs or more.
pub const BAD: &[(&str, Program)] = &[
    ("sizes_differ", endings::sizes_differ),
    ("calls_differ", endings::calls_differ),
    ("values_differ", endings::values_differ),
    ("panic", endings::panic),
    ("panic_while_others_wait_for_a_signal", endings::panic_while_others_wait_for_a_signal),
    ("exit", endings::exit),
    ("returns_early", endings::returns_early),
    ("one_error", endings::one_error),
    ("one_error_while_others_wait_for_a_signal", endings::one_error_while_others_wait_for_a_signal),
    ("all_errors", endings::all_errors),
    ("late", endings::late),
];

/// Runs a program as a job of `pes` PEs on a device; `good` for all of [`GOOD`], one behind the other in one job.
///
/// # Errors
/// What `launch_on` returned.
pub fn run(name: &str, pes: usize, device: Device) -> Result<(), Error> {
    let (all, one) = (name == "good", GOOD.iter().chain(BAD).find(|(known, _)| *known == name));
    assert!(all || one.is_some(), "there is no program {name}");
    let done = shmem::launch_on(Dyn, device, pes, |job| match one {
        Some((_, program)) => program(job),
        None => GOOD.iter().try_for_each(|(_, program)| program(job)),
    })?;
    assert!([1, pes].contains(&done.len()), "one result of each PE of this process");
    Ok(())
}

/// Element types that know values of theirs.
pub(crate) trait Sample: DType + PartialEq + Debug {
    /// One that depends on `n`; small, so that sums of a few fit.
    fn of(n: usize) -> Self;
}

macro_rules! samples {
    ($($t:ty),+) => { $(
        impl Sample for $t {
            fn of(n: usize) -> $t {
                (n % 97 + 1) as $t
            }
        }
    )+ };
}
samples!(i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl Sample for f16 {
    fn of(n: usize) -> f16 {
        f16::from_f32((n % 97 + 1) as f32)
    }
}

impl Sample for bf16 {
    fn of(n: usize) -> bf16 {
        bf16::from_f32((n % 97 + 1) as f32)
    }
}

impl Sample for F8E5M2 {
    fn of(n: usize) -> F8E5M2 {
        F8E5M2::from_bits((n % 97) as u8)
    }
}

impl Sample for Bool8 {
    fn of(n: usize) -> Bool8 {
        Bool8::from(n.is_multiple_of(3))
    }
}

impl Sample for [u16; 3] {
    fn of(n: usize) -> [u16; 3] {
        [0, 1, 2].map(|k| (n % 9973) as u16 * 3 + k)
    }
}

/// Calls a generic function with every element type.
macro_rules! for_every_type {
    ($f:ident($($arg:expr),*)) => {
        crate::shmem_programs::for_every_type!(@ $f($($arg),*): i8 u8 i16 u16 i32 u32 i64 u64 f32 f64
            half::f16 half::bf16 escrow::F8E5M2 escrow::Bool8 [u16; 3])
    };
    (@ $f:ident $args:tt: $($t:ty)+) => { $( crate::shmem_programs::for_every_type!(@@ $f: $t, $args); )+ };
    (@@ $f:ident: $t:ty, ($($arg:expr),*)) => { $f::<$t>($($arg),*)? };
}
pub(crate) use for_every_type;

/// `len` values that depend on `seed`.
pub(crate) fn values<T: Sample>(seed: usize, len: usize) -> Vec<T> {
    (0..len).map(|at| T::of(seed * 31 + at)).collect()
}
