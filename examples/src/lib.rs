//! Shared parts of the example programs.

pub mod blas;
pub mod blur;
pub mod cli;
pub mod dispatch;
pub mod heat;
