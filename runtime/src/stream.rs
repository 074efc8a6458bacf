//! Streams: what all handles of one queue of operations share.

use std::sync::Arc;

use crate::block::BlockRef;
use crate::cpu::{Core, Event, is_worker};
use crate::device::Device;
use crate::error::{Error, Operation};
use crate::op::Op;

/// One stream of execution. Its address is its identity.
///
/// The last handle ends it: no wait happens there, the worker drains, frees what is parked and ends by itself.
pub(crate) struct Stream {
    device: Device,
    core: Arc<Core>,
}

impl Stream {
    pub(crate) fn new(device: Device) -> Result<Arc<Stream>, Error> {
        not_on_worker(Operation::Create)?;
        let core = Core::spawn(device.0.threads()?, device.0.scheduler()?)?;
        Ok(Arc::new(Stream { device, core }))
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Enqueues one operation.
    ///
    /// # Safety
    /// The duty in the documentation of [`Op`].
    #[inline(always)] // so that the operation is made in its slot and not copied there
    pub(crate) unsafe fn enqueue(&self, what: Operation, op: Op) -> Result<(), Error> {
        self.core.enqueue(what, op)
    }

    /// The point behind everything enqueued so far.
    pub(crate) fn event(&self) -> Event {
        Event::of(&self.core)
    }

    /// Nothing enqueued from now on starts before `event` has fired.
    pub(crate) fn wait_for(&self, what: Operation, event: Event) -> Result<(), Error> {
        if event.is_on(&self.core) {
            return Ok(()); // a stream is behind itself already
        }
        self.core.enqueue(what, Op::Wait(event))
    }

    /// As [`Stream::wait_for`], and a failure of the other stream does not spread.
    pub(crate) fn come_after(&self, what: Operation, event: Event) -> Result<(), Error> {
        if event.is_on(&self.core) {
            return Ok(());
        }
        self.core.enqueue(what, Op::After(event))
    }

    /// Blocks the calling thread until everything enqueued so far has been passed, also on a failed stream.
    pub(crate) fn synchronize(&self, what: Operation) -> Result<(), Error> {
        self.core.wait(what, self.core.tail())
    }

    /// Keeps `block` until everything enqueued so far has been passed. Never waits.
    pub(crate) fn park(&self, block: BlockRef) {
        self.core.park(block);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.core.close();
    }
}

/// Refuses a call from a thread that runs a device's work: waiting there for that work would never end.
pub(crate) fn not_on_worker(op: Operation) -> Result<(), Error> {
    if is_worker() { Err(Error::FromWorker { op }) } else { Ok(()) }
}
