//! Points in CUDA streams.

use std::sync::Arc;

use super::check;
use super::core::Core;
use super::raw::{self, CUevent};
use crate::error::{Error, Operation};

/// A recorded event. It is this value's alone until it is dropped, and then goes back to its device: waits that were
/// enqueued have captured it.
pub(crate) struct Event {
    raw: CUevent,
    core: Arc<Core>,
    /// What was parked on the stream before the event was recorded.
    covers: u64,
}

// SAFETY: the driver's handles may be used from any thread, and nothing here changes.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Records the point behind everything enqueued so far.
    pub(crate) fn record(core: &Arc<Core>) -> Result<Event, Error> {
        // Before the record: what is parked after this may be in use by operations behind the event.
        let covers = core.parked();
        let raw = core.device().take_event()?;
        // SAFETY: both are of this device, and the event is nobody else's.
        let code = core.device().call(|| unsafe { raw::cuEventRecord(raw, core.raw()) });
        if let Err(error) = check(Operation::Record, code) {
            core.device().destroy_event(raw);
            return Err(error);
        }
        Ok(Event { raw, core: Arc::clone(core), covers })
    }

    pub(crate) fn wait(&self, what: Operation) -> Result<(), Error> {
        // SAFETY: the event is recorded and lives.
        check(what, self.core.device().call(|| unsafe { raw::cuEventSynchronize(self.raw) }))?;
        self.core.release(self.covers);
        Ok(())
    }

    pub(crate) fn is_finished(&self) -> Result<bool, Error> {
        // SAFETY: as above.
        match self.core.device().call(|| unsafe { raw::cuEventQuery(self.raw) }) {
            raw::NOT_READY => Ok(false),
            code => {
                check(Operation::Wait, code)?;
                self.core.release(self.covers);
                Ok(true)
            }
        }
    }

    /// Whether both are points of one stream.
    pub(crate) fn shares_stream_with(&self, other: &Event) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    pub(super) fn raw(&self) -> CUevent {
        self.raw
    }

    pub(super) fn is_on(&self, core: &Core) -> bool {
        std::ptr::eq(&raw const *self.core, core)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.core.device().put_event(self.raw);
    }
}
