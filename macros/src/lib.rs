//! Derive macros of the crate `escrow`, which re-exports and documents them.

mod ast;
mod attr;
mod cdecl;
mod dtype;
mod generics;
mod kernels;
mod passable;
#[cfg(test)]
mod snapshots;
mod valid;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct an element of buffers: implements `DType`, `Init`, `DeviceLayout`, `DevicePassable` and
/// `bytemuck::{Zeroable, Pod}`.
///
/// The struct is `#[repr(C)]` or `#[repr(transparent)]` (`align(N)` up to 16 and `packed` may be added) and `Copy`, its
/// fields are elements, and it has no padding; all of this is proven when it compiles. A generic struct needs a layout
/// that follows from its bounds: transparent, `repr(C, packed)`, or all fields of one type and arrays of it.
///
/// `Type::C_DECL` is the declaration for CUDA C++, with `static_assert`s. Field names that are keywords of C++ get a `_`
/// behind them there, and the fields of a tuple struct are `_0`, `_1` and so on.
///
/// `#[escrow(crate = "path")]` names the crate `escrow` where it has another name.
#[proc_macro_derive(DType, attributes(escrow))]
pub fn derive_dtype(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    dtype::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a host struct a by-value parameter of kernels.
///
/// Its fields are elements, device spans, trusted pointers, or other such structs. For `Name` the derive writes
/// `NameDevice`, the C struct that a kernel gets, and `NameBody<'k>`, what a Rust kernel body gets. A parameter with the
/// bound `StreamTag` is the tag of the spans.
///
/// On fields:
/// - `#[device(skip)]`: stays on the host.
/// - `#[device(rename = "other")]`: has another name on the device.
/// - `#[device(len_of(src))]`, on an integer: holds `src.len()` on the device. What the host writes into the field is
///   ignored. A length that does not fit is an error of the launch.
///
/// `Name::C_DECL` is the declaration for CUDA C++, with `static_assert`s.
///
/// `#[escrow(crate = "path")]` on the struct names the crate `escrow` where it has another name.
#[proc_macro_derive(DevicePassable, attributes(device, escrow))]
pub fn derive_device_passable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    passable::expand(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a struct of typed kernels from their declarations.
///
/// Documented, with examples, where `escrow` re-exports it.
#[proc_macro_attribute]
pub fn kernels(args: TokenStream, input: TokenStream) -> TokenStream {
    kernels::expand(args.into(), input.into()).into()
}
