//! Vector clocks: for each stream (by slot) the serial of its last operation that is known to come before.

/// A vector clock. Slots past its end are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// A clock that knows nothing.
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The last known serial of a slot.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> u64 {
        self.0.get(slot as usize).copied().unwrap_or(0)
    }

    /// Learns of `serial` on `slot`. Tells whether that was news.
    pub(crate) fn learn(&mut self, slot: u32, serial: u64) -> bool {
        if self.get(slot) >= serial {
            return false;
        }
        if self.0.len() <= slot as usize {
            self.0.resize(slot as usize + 1, 0);
        }
        self.0[slot as usize] = serial;
        true
    }

    /// Learns all that `other` knows. Tells whether any of it was news.
    pub(crate) fn join(&mut self, other: &Clock) -> bool {
        let mut news = false;
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if *mine < *theirs {
                *mine = *theirs;
                news = true;
            }
        }
        news
    }

    /// Whether it already knows all that `other` knows.
    pub(crate) fn covers(&self, other: &Clock) -> bool {
        other.0.iter().enumerate().all(|(slot, serial)| self.get(slot as u32) >= *serial)
    }
}
