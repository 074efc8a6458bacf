//! Kernels: typed launches, their arguments, and Rust bodies for the CPU device.
//!
//! `#[kernels]` (in `escrow-macros`) turns declarations into methods. What such a method does is in [`call`]: it admits
//! every operand, checks what the declaration demands, and enqueues once.

mod args;
mod body;
pub(crate) mod call;
mod launch;
mod passable;

pub use args::{DeviceRead, DeviceWrite, KernelOut};
pub use body::{KernelSpan, KernelSpanMut, Share};
pub use call::ArgCheck;
pub use launch::{Dim, Launch};
pub use passable::{DeviceLayout, DevicePassable, KernelLen};
