//! Who touched which bytes of a block last: an interval map with the last write and the reads since, as
//! compute-sanitizer and thread sanitizers keep it, by range instead of by byte since device operations touch ranges.

use crate::clock::Clock;

/// One operation's access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// The stream's slot.
    pub(crate) slot: u32,
    /// The operation's serial.
    pub(crate) serial: u64,
    /// The driver call that enqueued it.
    pub(crate) call: &'static str,
}

impl Access {
    /// Whether it comes before an operation of `slot` that knows `clock`. One stream runs in order.
    #[inline]
    pub(crate) fn before(&self, slot: u32, clock: &Clock) -> bool {
        self.slot == slot || clock.get(self.slot) >= self.serial
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    start: u64,
    end: u64,
    /// Whether the bytes have a value.
    written: bool,
    write: Option<Access>,
    reads: Vec<Access>,
}

/// What a check found.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    /// An access that is not ordered with this one, and whether it wrote.
    pub(crate) conflict: Option<(Access, bool)>,
    /// Bytes without a value were read.
    pub(crate) unwritten: bool,
}

/// The access history of one block.
#[derive(Debug)]
pub(crate) struct Shadow {
    spans: Vec<Span>,
}

impl Shadow {
    /// A block of `len` bytes. `by` is the allocation where that is itself an operation of a stream.
    pub(crate) fn new(len: u64, written: bool, by: Option<Access>) -> Self {
        Self { spans: vec![Span { start: 0, end: len, written, write: by, reads: Vec::new() }] }
    }

    /// Cuts the map at the ends of the range; gives the spans inside.
    fn isolate(&mut self, from: u64, to: u64) -> std::ops::Range<usize> {
        let mut first = self.spans.partition_point(|s| s.end <= from);
        if self.spans[first].start < from {
            let mut left = self.spans[first].clone();
            left.end = from;
            self.spans[first].start = from;
            self.spans.insert(first, left);
            first += 1;
        }
        let mut last = first;
        while self.spans[last].end < to {
            last += 1;
        }
        if self.spans[last].end > to {
            let mut right = self.spans[last].clone();
            right.start = to;
            self.spans[last].end = to;
            self.spans.insert(last + 1, right);
        }
        first..last + 1
    }

    /// A read of `from..to` (not empty, inside the block).
    pub(crate) fn read(&mut self, from: u64, to: u64, who: Access, clock: &Clock) -> Finding {
        let mut found = Finding::default();
        let range = self.isolate(from, to);
        for span in &mut self.spans[range.clone()] {
            found.unwritten |= !span.written;
            if let Some(write) = span.write.filter(|w| !w.before(who.slot, clock)) {
                found.conflict.get_or_insert((write, true));
            }
            span.reads.retain(|r| !r.before(who.slot, clock));
            span.reads.push(who);
        }
        self.join_equal(range);
        found
    }

    /// A write of `from..to` (not empty, inside the block).
    pub(crate) fn write(&mut self, from: u64, to: u64, who: Access, clock: &Clock) -> Finding {
        let range = self.isolate(from, to);
        let conflict = self.conflict_in(range.clone(), |a| a.before(who.slot, clock));
        let (first, rest) = (range.start, range.start + 1..range.end);
        self.spans.drain(rest);
        let span = &mut self.spans[first];
        span.end = to;
        span.written = true;
        span.write = Some(who);
        span.reads.clear();
        self.join_equal(first..first + 1);
        Finding { conflict, unwritten: false }
    }

    /// The first access anywhere that `before` does not hold for, and whether it wrote.
    pub(crate) fn pending(&self, before: impl Fn(&Access) -> bool) -> Option<(Access, bool)> {
        self.conflict_in(0..self.spans.len(), before)
    }

    fn conflict_in(&self, range: std::ops::Range<usize>, before: impl Fn(&Access) -> bool) -> Option<(Access, bool)> {
        self.spans[range].iter().find_map(|span| {
            let write = span.write.filter(|w| !before(w)).map(|w| (w, true));
            write.or_else(|| span.reads.iter().find(|r| !before(r)).map(|r| (*r, false)))
        })
    }

    /// Joins spans with one history, so that the map stays as small as what happened.
    fn join_equal(&mut self, around: std::ops::Range<usize>) {
        let mut at = (around.end).min(self.spans.len() - 1);
        let stop = around.start.max(1);
        while at >= stop {
            let (a, b) = (&self.spans[at - 1], &self.spans[at]);
            if a.written == b.written && a.write == b.write && a.reads == b.reads {
                self.spans[at - 1].end = self.spans[at].end;
                self.spans.remove(at);
            }
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(slot: u32, serial: u64) -> Access {
        Access { slot, serial, call: "test" }
    }

    #[test]
    fn ranges_split_and_join() {
        let (mut shadow, clock) = (Shadow::new(100, false, None), Clock::new());
        assert!(shadow.read(10, 20, by(0, 1), &clock).unwritten);
        shadow.write(20, 30, by(1, 2), &clock);
        assert!(shadow.write(15, 25, by(1, 3), &clock).conflict.is_some_and(|c| c == (by(0, 1), false)));
        assert!(shadow.read(0, 10, by(1, 4), &clock).conflict.is_none());
        assert_eq!(shadow.read(24, 26, by(0, 5), &clock).conflict, Some((by(1, 3), true)));
        let mut knows = Clock::new();
        knows.learn(1, 3);
        knows.learn(0, 5);
        assert!(shadow.write(0, 100, by(2, 6), &knows).conflict.is_some(), "the read 4 of slot 1 is not known");
        knows.learn(1, 4);
        assert_eq!(shadow.spans.len(), 1);
        assert!(shadow.pending(|a| a.before(2, &knows)).is_none());
    }
}
