//! A `libcuda` that runs on the CPU: stream semantics, counting, injected failures and delays, and a checker that
//! reports races, uses after free, frees in use and bad handles. For tests of programs that link the CUDA driver, on
//! machines without one.
//!
//! `docs/fake-driver.md` says how to use it. Start reading at [`mod@api`] for the driver's functions and at
//! [`control`] for what tests ask of the fake itself.
#![allow(non_camel_case_types, non_snake_case, reason = "the driver's names")]
#![allow(clippy::doc_markdown, reason = "the driver's names in prose")]

pub mod abi;
pub mod api;
mod clock;
pub mod control;
mod driver;
mod entry;
mod handle;
mod memory;
mod module;
mod op;
mod ptx;
mod report;
mod schedule;
mod session;
mod settings;
mod shadow;
