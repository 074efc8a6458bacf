//! Shared parts of the example programs.

pub mod blur;
