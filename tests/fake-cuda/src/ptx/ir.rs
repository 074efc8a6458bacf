//! The instruction set that PTX is parsed to. Registers hold 64 bits, whatever their type.

/// A type of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F32,
    F64,
}

impl Ty {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Ty::Pred,
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            _ => return None,
        })
    }

    pub(super) fn size(self) -> u32 {
        match self {
            Ty::Pred | Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }

    pub(super) fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    pub(super) fn float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64)
    }
}

/// A register.
pub(super) type Reg = u32;

/// What a thread knows about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    LaneMask(LaneMask),
    DynamicShared,
    Clock,
}

/// A set of lanes, by their order to one's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneMask {
    Eq,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An operand that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arg {
    Reg(Reg),
    Imm(u64),
    Special(Special),
}

/// An address: a base and an offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address {
    pub(super) base: Arg,
    pub(super) offset: i64,
}

/// A memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Param,
}

/// Two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// One operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Neg,
    Abs,
    Not,
    Cnot,
    Popc,
    Clz,
    Brev,
    Rcp,
    Sqrt,
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// Three operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ternary {
    MadLo,
    MadHi,
    MadWide,
    Fma,
    Bfe,
    /// The truth table.
    Lop3(u8),
    Prmt,
    ShfL(bool),
    ShfR(bool),
}

/// A comparison. `bool`: true for unordered floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    Eq(bool),
    Ne(bool),
    Lt(bool),
    Le(bool),
    Gt(bool),
    Ge(bool),
    Num,
    Nan,
}

/// How a conversion rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    None,
    /// To an integer: nearest even, to zero, down, up.
    Nearest,
    Zero,
    Down,
    Up,
}

/// What an atomic does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Atomic {
    Binary(Binary),
    Exchange,
    CompareAndSwap,
    Inc,
    Dec,
}

/// How a shuffle picks its source lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}

/// What a vote computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vote {
    All,
    Any,
    Uni,
    Ballot,
}

/// An operation of all lanes of a warp.
#[derive(Debug, Clone, Copy)]
pub(super) enum Warp {
    Shuffle { mode: Shuffle, dst: Reg, valid: Option<Reg>, value: Arg, lane: Arg, clamp: Arg, mask: Arg },
    Vote { vote: Vote, dst: Reg, pred: Arg, negated: bool, mask: Arg },
    Sync { mask: Arg },
}

impl Warp {
    pub(super) fn mask(&self) -> Arg {
        match self {
            Warp::Shuffle { mask, .. } | Warp::Vote { mask, .. } | Warp::Sync { mask } => *mask,
        }
    }
}

/// An operation.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Mov(Reg, Arg),
    /// Adds a window's base to an address of a space, or takes it off.
    ToGeneric(Space, Reg, Arg),
    FromGeneric(Space, Reg, Arg),
    Pack(u32, Reg, Vec<Arg>),
    Unpack(u32, Vec<Option<Reg>>, Arg),
    Unary(Unary, Ty, Reg, Arg),
    Binary(Binary, Ty, Reg, Arg, Arg),
    Ternary(Ternary, Ty, Reg, Arg, Arg, Arg),
    Convert {
        to: Ty,
        from: Ty,
        round: Round,
        saturate: bool,
        dst: Reg,
        arg: Arg,
    },
    Compare {
        compare: Compare,
        ty: Ty,
        with: Option<(Binary, Arg, bool)>,
        dst: Reg,
        other: Option<Reg>,
        a: Arg,
        b: Arg,
    },
    Select(Reg, Arg, Arg, Arg),
    Load {
        space: Space,
        ty: Ty,
        dst: Vec<Option<Reg>>,
        at: Address,
        atomic: bool,
    },
    Store {
        space: Space,
        ty: Ty,
        src: Vec<Arg>,
        at: Address,
        atomic: bool,
    },
    Atomic {
        space: Space,
        op: Atomic,
        ty: Ty,
        dst: Option<Reg>,
        at: Address,
        b: Arg,
        c: Arg,
    },
    Branch(usize),
    Barrier,
    Warp(Warp),
    Exit,
    Trap,
    Nothing,
}

/// An instruction.
#[derive(Debug, Clone)]
pub(super) struct Inst {
    /// Runs only where this predicate has this value.
    pub(super) guard: Option<(Reg, bool)>,
    pub(super) op: Op,
    pub(super) line: u32,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}

/// A kernel.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: u32,
    /// Static shared memory. Dynamic shared memory follows it.
    pub(crate) shared_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) max_threads: u32,
    pub(super) code: Vec<Inst>,
    pub(super) registers: u32,
    /// It orders threads by fences or acquire and release, which the thread race check does not follow.
    pub(super) fences: bool,
    /// It orders threads of a warp by itself.
    pub(super) warp_sync: bool,
}
