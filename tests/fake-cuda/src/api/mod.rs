//! The driver's functions, by subject.

pub mod alloc;
pub mod context;
pub mod copy;
pub mod device;
pub mod event;
pub mod fill;
pub mod host;
pub mod launch;
pub mod module;
pub mod pointer;
pub mod pool;
pub mod stream;
pub mod unsupported;
