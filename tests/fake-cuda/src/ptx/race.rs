//! Which threads of one launch touched which bytes, and whether two of them did without an order.
//!
//! Threads of one block are ordered by its barriers: each access bears its thread and how many barriers came before it.

use std::collections::HashMap;

const PAGE: u64 = 256;

/// Who, and after how many barriers of its block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// From 1; 0: nobody.
    pub(super) thread: u32,
    pub(super) phase: u32,
}

/// Who read a byte, if more than one thread did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Readers {
    #[default]
    One,
    OneBlock,
    Many,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    writer: Mark,
    reader: Mark,
    readers: Readers,
    atomic: bool,
}

#[derive(Debug)]
struct Page {
    cells: [Cell; PAGE as usize],
    read: [bool; PAGE as usize],
    written: [bool; PAGE as usize],
}

/// A conflict: the byte, the other thread (from 0), and whether that one wrote.
pub(super) type Conflict = (u64, u32, bool);

/// The access map of a launch.
#[derive(Debug)]
pub(super) struct Touched {
    pages: HashMap<u64, usize>,
    store: Vec<Page>,
    last: (u64, usize),
    threads_of_block: u32,
    check: bool,
}

impl Touched {
    pub(super) fn new(threads_of_block: u32, check: bool) -> Self {
        Self { pages: HashMap::new(), store: Vec::new(), last: (u64::MAX, 0), threads_of_block, check }
    }

    fn page(&mut self, key: u64) -> usize {
        if self.last.0 != key {
            let store = &mut self.store;
            let index = *self.pages.entry(key).or_insert_with(|| {
                store.push(Page {
                    cells: [Cell::default(); PAGE as usize],
                    read: [false; PAGE as usize],
                    written: [false; PAGE as usize],
                });
                store.len() - 1
            });
            self.last = (key, index);
        }
        self.last.1
    }

    fn same_block(&self, a: Mark, b: Mark) -> bool {
        (a.thread - 1) / self.threads_of_block == (b.thread - 1) / self.threads_of_block
    }

    fn ordered(&self, before: Mark, now: Mark) -> bool {
        before.thread == 0 || before.thread == now.thread || before.phase < now.phase && self.same_block(before, now)
    }

    fn readers_ordered(&self, cell: &Cell, now: Mark) -> bool {
        match cell.readers {
            Readers::One => self.ordered(cell.reader, now),
            Readers::OneBlock => cell.reader.phase < now.phase && self.same_block(cell.reader, now),
            Readers::Many => false,
        }
    }

    /// Notes an access of a thread.
    pub(super) fn note(&mut self, address: u64, len: u32, write: bool, atomic: bool, now: Mark) -> Option<Conflict> {
        let mut conflict = None;
        for byte in address..address + u64::from(len) {
            let (page, at) = (self.page(byte / PAGE), (byte % PAGE) as usize);
            if write {
                self.store[page].written[at] = true;
            } else {
                self.store[page].read[at] = true;
            }
            if !self.check {
                continue;
            }
            let mut cell = self.store[page].cells[at];
            if !(self.ordered(cell.writer, now) || atomic && cell.atomic) {
                conflict.get_or_insert((byte, cell.writer.thread - 1, true));
            }
            if write {
                if !(self.readers_ordered(&cell, now) || atomic && cell.atomic) {
                    conflict.get_or_insert((byte, cell.reader.thread - 1, false));
                }
                cell = Cell { writer: now, atomic, ..Cell::default() };
            } else if self.readers_ordered(&cell, now) {
                (cell.reader, cell.readers) = (now, Readers::One);
            } else {
                let same = cell.readers != Readers::Many && self.same_block(cell.reader, now);
                cell.readers = if same { Readers::OneBlock } else { Readers::Many };
                cell.reader = now;
            }
            self.store[page].cells[at] = cell;
        }
        conflict
    }

    /// The ranges that were read, and those that were written.
    pub(super) fn ranges(&self) -> [Vec<(u64, u64)>; 2] {
        let mut keys: Vec<_> = self.pages.iter().map(|(key, page)| (*key, *page)).collect();
        keys.sort_unstable();
        let mut all = [Vec::new(), Vec::new()];
        for (key, page) in keys {
            let page = &self.store[page];
            for (ranges, bytes) in all.iter_mut().zip([&page.read, &page.written]) {
                for at in (0..PAGE).filter(|at| bytes[*at as usize]).map(|at| key * PAGE + at) {
                    match ranges.last_mut() {
                        Some((_, end)) if *end == at => *end += 1,
                        _ => ranges.push((at, at + 1)),
                    }
                }
            }
        }
        all
    }

    /// Forgets everything: another block's shared memory.
    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.store.clear();
        self.last.0 = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, Touched};

    fn mark(thread: u32, phase: u32) -> Mark {
        Mark { thread, phase }
    }

    #[test]
    fn barriers_order_a_block_and_no_more() {
        let mut t = Touched::new(4, true);
        assert!(t.note(0, 4, true, false, mark(1, 0)).is_none());
        assert!(t.note(0, 4, false, false, mark(2, 1)).is_none());
        assert!(t.note(0, 4, false, false, mark(3, 1)).is_none());
        assert_eq!(t.note(3, 1, true, false, mark(4, 1)), Some((3, 2, false)));
        assert!(t.note(0, 3, true, false, mark(4, 2)).is_none());
        assert_eq!(t.note(0, 1, false, false, mark(5, 9)), Some((0, 3, true)), "another block");
        assert!(t.note(8, 4, true, true, mark(1, 0)).is_none());
        assert!(t.note(8, 4, true, true, mark(9, 0)).is_none());
        assert!(t.note(8, 4, false, false, mark(1, 0)).is_some());
        assert_eq!(t.ranges(), [vec![(0, 4), (8, 12)], vec![(0, 4), (8, 12)]]);
    }
}
