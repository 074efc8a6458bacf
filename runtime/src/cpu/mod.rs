//! The CPU as an asynchronous device: one worker thread per stream, helper threads that all streams share.

pub(crate) mod sync;

mod chaos;
mod core;
mod device;
mod event;
pub(crate) mod gate;
pub(crate) mod memory;
mod queue;
mod team;
#[cfg(test)]
mod tests;

pub(crate) use self::core::Core;
pub(crate) use self::device::CpuDevice;
pub(crate) use self::event::Event;

use std::cell::Cell;

thread_local! {
    static WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a device's work. Such a thread must not wait for work or for room in a queue: the work it
/// would wait for may be its own.
#[inline]
pub(crate) fn is_worker() -> bool {
    // A thread whose locals are gone is at its end, and neither a worker nor a helper runs bodies then.
    WORKER.try_with(Cell::get).unwrap_or(false)
}

/// Marks this thread for [`is_worker`], for good.
fn become_worker() {
    WORKER.with(|worker| worker.set(true));
}
