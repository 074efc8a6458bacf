//! Programs as data, so that proptest can draw and shrink them.

use proptest::prelude::*;

/// What one step does. The numbers of [`Op`] pick buffers, contexts, ranges and variants of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    CreateHost,
    CreateHostFrom,
    CreateRaw,
    CreateZeroed,
    CreateFrom,
    CreateFromOtherTag,
    Empty,
    IntoUninit,
    WriteHost,
    Fill,
    FillSpan,
    CopyTo,
    CopyFrom,
    CopySpans,
    CopyToOtherTag,
    FromSlice,
    ToSlice,
    Scope,
    Handoff,
    HandoffMany,
    HandoffToOtherTag,
    Reassign,
    On,
    IntoShared,
    Share,
    ShareWithOtherTag,
    Sub,
    Unshare,
    Split,
    Chunks,
    Rejoin,
    TakePtr,
    FromPtr,
    Record,
    WaitRecorded,
    Land,
    LandMany,
    Kernel,
    Drop,
    Forget,
    NewContext,
    /// A kernel body panics: only where a test wants failed streams.
    Fail,
}

use Kind::*;

/// With weights: what makes buffers, moves data and ends flights comes more often than what only ends things.
const KINDS: &[(u32, Kind)] = &[
    (6, CreateHostFrom),
    (2, CreateHost),
    (3, CreateRaw),
    (3, CreateZeroed),
    (6, CreateFrom),
    (2, CreateFromOtherTag),
    (1, Empty),
    (1, IntoUninit),
    (3, WriteHost),
    (5, Fill),
    (4, FillSpan),
    (10, CopyTo),
    (10, CopyFrom),
    (5, CopySpans),
    (2, CopyToOtherTag),
    (2, FromSlice),
    (2, ToSlice),
    (3, Scope),
    (5, Handoff),
    (2, HandoffMany),
    (2, HandoffToOtherTag),
    (2, Reassign),
    (4, On),
    (4, IntoShared),
    (4, Share),
    (2, ShareWithOtherTag),
    (2, Sub),
    (5, Unshare),
    (2, Split),
    (2, Chunks),
    (3, Rejoin),
    (2, TakePtr),
    (3, FromPtr),
    (2, Record),
    (2, WaitRecorded),
    (4, Land),
    (2, LandMany),
    (5, Kernel),
    (4, Drop),
    (1, Forget),
    (1, NewContext),
];

/// Few lengths, so that copies often meet their like; zero among them.
pub const LENGTHS: [usize; 8] = [0, 1, 4, 4, 4, 7, 64, 300];

/// One step of a program.
#[derive(Clone, Debug)]
pub struct Op {
    pub kind: Kind,
    /// Which of the two tags it starts from.
    pub other: bool,
    pub a: usize,
    pub b: usize,
    pub x: usize,
    pub y: usize,
    pub value: u64,
}

impl Op {
    pub fn length(&self) -> usize {
        LENGTHS[self.x % LENGTHS.len()]
    }
}

fn one(kind: impl Strategy<Value = Kind>) -> impl Strategy<Value = Op> {
    (kind, any::<bool>(), 0..16usize, 0..16usize, 0..32usize, 0..32usize, any::<u64>())
        .prop_map(|(kind, other, a, b, x, y, value)| Op { kind, other, a, b, x, y, value })
}

fn kinds(fails: u32) -> impl Strategy<Value = Kind> {
    let mut all: Vec<(u32, Just<Kind>)> = KINDS.iter().map(|&(weight, kind)| (weight, Just(kind))).collect();
    if fails > 0 {
        all.push((fails, Just(Fail)));
    }
    proptest::strategy::Union::new_weighted(all)
}

/// Programs of up to `steps` steps, on streams that stay well.
pub fn programs(steps: usize) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(one(kinds(0)), 1..steps)
}

/// Programs in which kernel bodies panic now and then.
pub fn failing_programs(steps: usize) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(one(kinds(2)), 1..steps)
}
