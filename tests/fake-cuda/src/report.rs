//! What the checker found.

use std::fmt;

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two accesses, at least one a write, with no edge between them.
    Race,
    /// Access to memory that is freed or on its way to be.
    UseAfterFree,
    /// Access to memory that no call gave out.
    NotAllocated,
    /// Access past the end of a block.
    OutOfBounds,
    /// Memory freed or unregistered while a stream may use it.
    FreeInUse,
    /// A free of something that cannot be freed so, or was already.
    BadFree,
    /// A handle that is not, or no longer, alive.
    BadHandle,
    /// Objects of two contexts or devices in one call.
    WrongContext,
    /// Source and destination of a copy overlap.
    Overlap,
    /// Read of device memory that nothing wrote.
    Unwritten,
    /// A driver call where none is allowed.
    NotPermitted,
    /// A launch that does not fit its kernel.
    BadLaunch,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Race => "race",
            Kind::UseAfterFree => "use after free",
            Kind::NotAllocated => "not allocated",
            Kind::OutOfBounds => "out of bounds",
            Kind::FreeInUse => "free in use",
            Kind::BadFree => "bad free",
            Kind::BadHandle => "bad handle",
            Kind::WrongContext => "wrong context",
            Kind::Overlap => "overlap",
            Kind::Unwritten => "unwritten",
            Kind::NotPermitted => "not permitted",
            Kind::BadLaunch => "bad launch",
        })
    }
}

/// Collected findings, or the end of the process at the first one.
#[derive(Debug)]
pub(crate) struct Reports {
    /// End the process at a report, so that a suite that runs on this driver fails.
    pub(crate) abort: bool,
    list: Vec<(Kind, String)>,
}

impl Reports {
    pub(crate) const fn new() -> Self {
        Self { abort: true, list: Vec::new() }
    }

    #[cold]
    pub(crate) fn add(&mut self, kind: Kind, text: &str) {
        let line = format!("fake-cuda: {kind}: {text}");
        if self.abort {
            eprintln!("{line}");
            eprintln!("fake-cuda: FAKE_CUDA_LOG=1 shows the calls by number; FAKE_CUDA_ABORT=0 goes on after a report");
            std::process::abort();
        }
        // A program in a loop must not fill the memory with one finding.
        if self.list.len() < 10_000 {
            self.list.push((kind, line));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }

    /// How many there are, of one kind if its name is given.
    pub(crate) fn count(&self, kind: Option<&str>) -> usize {
        self.list.iter().filter(|(k, _)| kind.is_none_or(|name| name == k.to_string())).count()
    }

    /// All of them, one a line.
    pub(crate) fn text(&self) -> String {
        self.list.iter().fold(String::new(), |all, (_, line)| all + line + "\n")
    }
}
