//! What a PE says of its collective call, so that all can see whether they are in the same one.

/// The kinds of collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Kind {
    Barrier = 1,
    Create,
    CreateSignal,
    Allocate,
    Reclaim,
    SplitStrided,
    Split2d,
    TeamBarrier,
    Broadcast,
    Fcollect,
    Alltoall,
    Reduce,
    ReduceScatter,
    Wait,
    End,
}

const KINDS: [Kind; 15] = [
    Kind::Barrier,
    Kind::Create,
    Kind::CreateSignal,
    Kind::Allocate,
    Kind::Reclaim,
    Kind::SplitStrided,
    Kind::Split2d,
    Kind::TeamBarrier,
    Kind::Broadcast,
    Kind::Fcollect,
    Kind::Alltoall,
    Kind::Reduce,
    Kind::ReduceScatter,
    Kind::Wait,
    Kind::End,
];

/// Words of a card.
pub(crate) const WORDS: usize = 6;

/// A collective call: plain words, since it lies in symmetric memory for the others to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    kind: u64,
    /// The how manieth collective call of the team.
    call: u64,
    /// Lengths, sizes, roots: what the kind says.
    a: u64,
    b: u64,
    c: u64,
    /// A hash of what does not fit: buffers and phases, element types.
    digest: u64,
}

impl Card {
    pub(crate) fn new(kind: Kind, call: u64, [a, b, c]: [u64; 3], digest: u64) -> Card {
        Card { kind: kind as u64, call, a, b, c, digest }
    }

    pub(crate) fn words(&self) -> [u64; WORDS] {
        [self.kind, self.call, self.a, self.b, self.c, self.digest]
    }

    pub(crate) fn from_words([kind, call, a, b, c, digest]: [u64; WORDS]) -> Card {
        Card { kind, call, a, b, c, digest }
    }

    /// One word that differs where the calls differ; never zero, which means that nothing has come yet.
    pub(crate) fn word(&self) -> u64 {
        self.words().iter().fold(0, |hash, &word| mix(hash, word)) | 1
    }

    /// The card of a PE that is done with its job, and failed in it.
    pub(crate) fn failed_end() -> Card {
        Card::new(Kind::End, 0, [1, 0, 0], 0)
    }

    pub(crate) fn is_failed_end(&self) -> bool {
        *self == Card::failed_end()
    }

    /// For people, where two calls differ: what each of them is, and more where that reads the same.
    pub(crate) fn describe_both(&self, other: &Card) -> (String, String) {
        let (here, there) = (self.describe(), other.describe());
        if here != there {
            return (here, there);
        }
        let differ = if self.kind == Kind::Barrier as u64 {
            "of other buffers, in another order, or local against exposed"
        } else {
            "with other buffers, element types, lengths, reductions or teams"
        };
        (here, format!("{there} {differ}"))
    }

    /// For people.
    pub(crate) fn describe(&self) -> String {
        let Card { a, b, c, call, .. } = *self;
        let kind = KINDS.iter().find(|kind| **kind as u64 == self.kind);
        let what = match kind {
            Some(Kind::Barrier) => format!("`barrier_all` of {a} values"),
            Some(Kind::Create) => format!("`create_buffer` of {a} elements of {b} bytes"),
            Some(Kind::CreateSignal) => "`create_signal`".to_owned(),
            Some(Kind::Allocate) => format!("the allocation of {a} bytes"),
            Some(Kind::Reclaim) => "`reclaim`".to_owned(),
            Some(Kind::SplitStrided) => format!("`split_strided` from {a} by {b}, {c} PEs"),
            Some(Kind::Split2d) => format!("`split_2d` with rows of {a}"),
            Some(Kind::TeamBarrier) => "`Team::barrier`".to_owned(),
            Some(Kind::Broadcast) => format!("`broadcast` of {a} elements of {b} bytes from PE {c}"),
            Some(Kind::Fcollect) => format!("`fcollect` of {a} elements of {b} bytes"),
            Some(Kind::Alltoall) => format!("`alltoall` of {a} elements of {b} bytes"),
            Some(Kind::Reduce) => format!("`reduce` of {a} elements of {b} bytes"),
            Some(Kind::ReduceScatter) => format!("`reduce_scatter` of {a} elements of {b} bytes"),
            Some(Kind::Wait) => return "a wait for a signal".to_owned(),
            Some(Kind::End) => return "the end of the job".to_owned(),
            None => "an unknown call".to_owned(),
        };
        format!("{what} (call {call} of the team)")
    }
}

/// Folds a word into a hash.
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

/// A hash of a text that is the same in all processes of one build.
pub(crate) fn digest_of(text: &str) -> u64 {
    text.bytes().fold(1, |hash, byte| mix(hash, u64::from(byte)))
}
