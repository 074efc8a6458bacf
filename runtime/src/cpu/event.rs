//! Points in streams.

use std::sync::Arc;

use super::core::Core;
use crate::error::{Error, Operation};

/// A point in a stream: fired when the stream has passed the operations enqueued before it. Recording one is reading a
/// number; the stream notices nothing.
#[derive(Clone)]
pub(crate) struct Event {
    core: Arc<Core>,
    number: u64,
}

impl Event {
    /// The point behind all that has been enqueued.
    pub(crate) fn of(core: &Arc<Core>) -> Event {
        Event { number: core.tail(), core: Arc::clone(core) }
    }

    /// Waits until the event has fired; an error if its stream had failed by then.
    pub(crate) fn wait(&self, what: Operation) -> Result<(), Error> {
        self.core.wait(what, self.number)
    }

    /// Whether the event has fired; an error if it fired as failed.
    pub(crate) fn is_finished(&self) -> Result<bool, Error> {
        self.core.query(self.number)
    }

    /// Whether the event has fired, as failed or not. A look and nothing else, whatever thread it is on.
    pub(crate) fn has_passed(&self) -> bool {
        self.core.has_passed(self.number)
    }

    /// Whether both are points of one stream.
    pub(crate) fn shares_stream_with(&self, other: &Event) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    pub(crate) fn is_on(&self, core: &Arc<Core>) -> bool {
        Arc::ptr_eq(&self.core, core)
    }

    pub(super) fn core(&self) -> &Core {
        &self.core
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}
