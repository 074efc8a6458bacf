//! Shared parts of the example programs.

pub mod blas;
pub mod blur;
pub mod heat;
