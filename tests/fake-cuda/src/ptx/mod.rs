//! Kernels: PTX text, parsed to a small instruction set and run on the CPU, one thread at a time.
//!
//! It is there to check kernels and their launches, not to be fast. What it does not know makes the module invalid,
//! by name.

mod arith;
mod block;
mod decode;
mod ir;
mod lex;
mod parse;
mod race;
mod run;

pub(crate) use ir::Entry;
pub(crate) use parse::parse;
pub(crate) use run::run;

/// A launch's shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    /// All blocks are there at the same time. Blocks still run one after the other: a grid-wide barrier never ends
    /// here.
    pub(crate) cooperative: bool,
}
