//! One instruction's tokens to an operation.

use std::collections::HashMap;

use super::ir::*;
use super::lex::Token;
use super::parse::{Name, Reader, Scope};

type Labels = HashMap<String, usize>;

fn special(name: &str) -> Option<Special> {
    let axis = |of: &str| match name.strip_prefix(of)? {
        ".x" => Some(0),
        ".y" => Some(1),
        ".z" => Some(2),
        _ => None,
    };
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::WarpCount,
        "%lanemask_eq" => Special::LaneMask(LaneMask::Eq),
        "%lanemask_lt" => Special::LaneMask(LaneMask::Lt),
        "%lanemask_le" => Special::LaneMask(LaneMask::Le),
        "%lanemask_gt" => Special::LaneMask(LaneMask::Gt),
        "%lanemask_ge" => Special::LaneMask(LaneMask::Ge),
        "%dynamic_smem_size" => Special::DynamicShared,
        "%clock" | "%clock64" | "%globaltimer" => Special::Clock,
        _ => {
            let ntid = || axis("%ntid").map(Special::Ntid);
            let nctaid = || axis("%nctaid").map(Special::Nctaid);
            return axis("%tid")
                .map(Special::Tid)
                .or_else(ntid)
                .or_else(|| axis("%ctaid").map(Special::Ctaid))
                .or_else(nctaid);
        }
    })
}

struct Decoder<'a, 'b> {
    r: &'a mut Reader<'b>,
    scope: &'a Scope,
}

impl Decoder<'_, '_> {
    fn name(&self, name: &str) -> Result<Name, String> {
        self.scope.names.get(name).copied().ok_or_else(|| format!("line {}: `{name}` is not declared", self.r.line()))
    }

    fn reg(&mut self) -> Result<Reg, String> {
        let name = self.r.word()?;
        match self.name(&name)? {
            Name::Reg(reg) => Ok(reg),
            Name::At(..) => Err(format!("line {}: `{name}` is no register", self.r.line())),
        }
    }

    /// A destination that may be `_`.
    fn sink(&mut self) -> Result<Option<Reg>, String> {
        if matches!(self.r.peek(), Some(Token::Word(w)) if w == "_") {
            self.r.next()?;
            return Ok(None);
        }
        self.reg().map(Some)
    }

    fn arg(&mut self, ty: Ty) -> Result<Arg, String> {
        let line = self.r.line();
        if self.r.eat('-') {
            return match self.r.next()? {
                Token::Int(n) => Ok(Arg::Imm(n.wrapping_neg())),
                Token::Decimal(x) if ty == Ty::F32 => Ok(Arg::Imm(u64::from((-x as f32).to_bits()))),
                Token::Decimal(x) => Ok(Arg::Imm((-x).to_bits())),
                other => Err(format!("line {line}: `-` before {other:?}")),
            };
        }
        match self.r.next()? {
            Token::Int(n) if ty == Ty::F32 => Ok(Arg::Imm(u64::from((n as f32).to_bits()))),
            Token::Int(n) if ty == Ty::F64 => Ok(Arg::Imm((n as f64).to_bits())),
            Token::Int(n) => Ok(Arg::Imm(n)),
            Token::Float(bits, _) => Ok(Arg::Imm(bits)),
            Token::Decimal(x) if ty == Ty::F32 => Ok(Arg::Imm(u64::from((x as f32).to_bits()))),
            Token::Decimal(x) => Ok(Arg::Imm(x.to_bits())),
            Token::Word(w) if w == "WARP_SZ" => Ok(Arg::Imm(32)),
            Token::Word(w) => match special(&w) {
                Some(special) => Ok(Arg::Special(special)),
                None => match self.name(&w)? {
                    Name::Reg(reg) => Ok(Arg::Reg(reg)),
                    Name::At(at) => Ok(Arg::Imm(at)),
                },
            },
            Token::Punct(c) => Err(format!("line {line}: expected an operand, found `{c}`")),
        }
    }

    fn comma(&mut self) -> Result<(), String> {
        self.r.expect(',')
    }

    fn next_arg(&mut self, ty: Ty) -> Result<Arg, String> {
        self.comma()?;
        self.arg(ty)
    }

    /// `{a, b}` or `a`.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        if !self.r.eat('{') {
            return one(self).map(|x| vec![x]);
        }
        let mut all = vec![one(self)?];
        while self.r.eat(',') {
            all.push(one(self)?);
        }
        self.r.expect('}').map(|()| all)
    }

    /// `[base+offset]`.
    fn address(&mut self) -> Result<Address, String> {
        self.r.expect('[')?;
        let base = self.arg(Ty::U64)?;
        let mut offset = 0;
        for (sign, factor) in [('+', 1), ('-', -1)] {
            if self.r.eat(sign) {
                match self.arg(Ty::U64)? {
                    Arg::Imm(n) => offset = (n as i64).wrapping_mul(factor),
                    _ => return Err(format!("line {}: an offset must be a number", self.r.line())),
                }
            }
        }
        self.r.expect(']').map(|()| Address { base, offset })
    }
}

fn compare(name: &str) -> Option<Compare> {
    Some(match name {
        "eq" => Compare::Eq(false),
        "ne" => Compare::Ne(false),
        "lt" | "lo" => Compare::Lt(false),
        "le" | "ls" => Compare::Le(false),
        "gt" | "hi" => Compare::Gt(false),
        "ge" | "hs" => Compare::Ge(false),
        "equ" => Compare::Eq(true),
        "neu" => Compare::Ne(true),
        "ltu" => Compare::Lt(true),
        "leu" => Compare::Le(true),
        "gtu" => Compare::Gt(true),
        "geu" => Compare::Ge(true),
        "num" => Compare::Num,
        "nan" => Compare::Nan,
        _ => return None,
    })
}

fn space(mods: &[&str]) -> Space {
    mods.iter()
        .find_map(|m| match m.split("::").next().unwrap_or(m) {
            "global" | "const" => Some(Space::Global),
            "shared" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "param" => Some(Space::Param),
            _ => None,
        })
        .unwrap_or(Space::Generic)
}

fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "neg" => Unary::Neg,
        "abs" => Unary::Abs,
        "not" => Unary::Not,
        "cnot" => Unary::Cnot,
        "popc" => Unary::Popc,
        "clz" => Unary::Clz,
        "brev" => Unary::Brev,
        "rcp" => Unary::Rcp,
        "sqrt" => Unary::Sqrt,
        "rsqrt" => Unary::Rsqrt,
        "ex2" => Unary::Ex2,
        "lg2" => Unary::Lg2,
        "sin" => Unary::Sin,
        "cos" => Unary::Cos,
        "tanh" => Unary::Tanh,
        _ => return None,
    })
}

fn binary(name: &str, mods: &[&str], ty: Ty) -> Option<Binary> {
    Some(match name {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" if mods.contains(&"wide") => Binary::MulWide,
        "mul" if mods.contains(&"hi") => Binary::MulHi,
        "mul" if mods.contains(&"lo") || ty.float() => Binary::MulLo,
        "div" => Binary::Div,
        "rem" => Binary::Rem,
        "min" => Binary::Min,
        "max" => Binary::Max,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "shl" => Binary::Shl,
        "shr" => Binary::Shr,
        _ => return None,
    })
}

/// Modifiers that change nothing here, or only how exact a result must be.
const HARMLESS: [&str; 62] = [
    "rn",
    "rz",
    "rm",
    "rp",
    "rni",
    "rzi",
    "rmi",
    "rpi",
    "ftz",
    "approx",
    "full",
    "sat",
    "lo",
    "hi",
    "wide",
    "uni",
    "sync",
    "aligned",
    "global",
    "shared",
    "shared::cta",
    "local",
    "param",
    "const",
    "to",
    "v2",
    "v4",
    "volatile",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "weak",
    "gpu",
    "sys",
    "cta",
    "nc",
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "L1::no_allocate",
    "up",
    "down",
    "bfly",
    "idx",
    "all",
    "any",
    "ballot",
    "add",
    "min",
    "max",
    "and",
    "or",
    "xor",
    "exch",
    "cas",
    "inc",
    "dec",
];

/// Decodes the instruction that comes next.
#[allow(clippy::too_many_lines, reason = "an arm for each instruction")]
pub(super) fn decode(r: &mut Reader<'_>, scope: &Scope, labels: &Labels, entry: &mut Entry) -> Result<Op, String> {
    let line = r.line();
    let opcode = r.word()?;
    // `L1::no_allocate` and the like are cut at the colon by the lexer.
    let mut mods: Vec<&str> = opcode.split('.').collect();
    let name = mods.remove(0);
    let unknown = || format!("line {line}: instruction `{opcode}` is not supported");
    let types: Vec<Ty> = mods.iter().filter_map(|m| Ty::parse(m)).collect();
    let ty = types.first().copied().unwrap_or(Ty::B32);
    let known = |m: &&&str| !HARMLESS.contains(m) && Ty::parse(m).is_none() && compare(m).is_none();
    if mods
        .iter()
        .filter(known)
        .any(|_| !matches!(name, "lop3" | "shf" | "membar" | "fence" | "bar" | "barrier" | "setp" | "prefetch"))
    {
        return Err(unknown());
    }
    if mods.iter().any(|m| matches!(*m, "acquire" | "release" | "acq_rel")) {
        entry.fences = true;
    }
    let has = |m: &str| mods.contains(&m);
    let mut d = Decoder { r, scope };
    if let Some(op) = unary(name) {
        let dst = d.reg()?;
        return Ok(Op::Unary(op, ty, dst, d.next_arg(ty)?));
    }
    if let Some(op) = binary(name, &mods, ty) {
        if types.len() != 1 {
            return Err(unknown());
        }
        let dst = d.reg()?;
        let a = d.next_arg(ty)?;
        let shift = matches!(op, Binary::Shl | Binary::Shr);
        return Ok(Op::Binary(op, ty, dst, a, d.next_arg(if shift { Ty::U32 } else { ty })?));
    }
    Ok(match name {
        "mov" => return mov(&mut d, ty),
        "cvta" => {
            let dst = d.reg()?;
            let arg = d.next_arg(ty)?;
            if has("to") { Op::FromGeneric(space(&mods), dst, arg) } else { Op::ToGeneric(space(&mods), dst, arg) }
        }
        "cvt" => {
            let [to, from] = types[..] else { return Err(unknown()) };
            let round = mods.iter().find_map(|m| match *m {
                "rni" => Some(Round::Nearest),
                "rzi" => Some(Round::Zero),
                "rmi" => Some(Round::Down),
                "rpi" => Some(Round::Up),
                _ => None,
            });
            let dst = d.reg()?;
            let arg = d.next_arg(from)?;
            Op::Convert { to, from, round: round.unwrap_or(Round::None), saturate: has("sat"), dst, arg }
        }
        "mad" | "fma" => {
            let op = match () {
                () if ty.float() => Ternary::Fma,
                () if has("wide") => Ternary::MadWide,
                () if has("hi") => Ternary::MadHi,
                () => Ternary::MadLo,
            };
            ternary(&mut d, op, ty)?
        }
        "bfe" => ternary(&mut d, Ternary::Bfe, ty)?,
        "prmt" => ternary(&mut d, Ternary::Prmt, ty)?,
        "shf" => {
            let op = if has("l") { Ternary::ShfL(has("wrap")) } else { Ternary::ShfR(has("wrap")) };
            ternary(&mut d, op, ty)?
        }
        "lop3" => {
            let Op::Ternary(_, ty, dst, a, b, c) = ternary(&mut d, Ternary::Lop3(0), ty)? else {
                return Err(unknown());
            };
            match d.next_arg(Ty::U32)? {
                Arg::Imm(table) => Op::Ternary(Ternary::Lop3(table as u8), ty, dst, a, b, c),
                _ => return Err(unknown()),
            }
        }
        "setp" => {
            let compare = mods.first().and_then(|m| compare(m)).ok_or_else(unknown)?;
            let with = mods.iter().find_map(|m| match *m {
                "and" => Some(Binary::And),
                "or" => Some(Binary::Or),
                "xor" => Some(Binary::Xor),
                _ => None,
            });
            let dst = d.reg()?;
            let other = if d.r.eat('|') { Some(d.reg()?) } else { None };
            let (a, b) = (d.next_arg(ty)?, d.next_arg(ty)?);
            let with = match with {
                None => None,
                Some(op) => {
                    d.comma()?;
                    let negated = d.r.eat('!');
                    Some((op, d.arg(Ty::Pred)?, negated))
                }
            };
            Op::Compare { compare, ty, with, dst, other, a, b }
        }
        "selp" => {
            let dst = d.reg()?;
            let (a, b) = (d.next_arg(ty)?, d.next_arg(ty)?);
            Op::Select(dst, a, b, d.next_arg(Ty::Pred)?)
        }
        "ld" | "ldu" => {
            let dst = d.list(Decoder::sink)?;
            d.comma()?;
            let atomic = has("volatile") || has("relaxed") || has("acquire");
            Op::Load { space: space(&mods), ty, dst, at: d.address()?, atomic }
        }
        "st" => {
            let at = d.address()?;
            d.comma()?;
            let atomic = has("volatile") || has("relaxed") || has("release");
            Op::Store { space: space(&mods), ty, src: d.list(|d| d.arg(ty))?, at, atomic }
        }
        "atom" | "red" => {
            let op = mods.iter().find_map(|m| {
                Some(match *m {
                    "exch" => Atomic::Exchange,
                    "cas" => Atomic::CompareAndSwap,
                    "inc" => Atomic::Inc,
                    "dec" => Atomic::Dec,
                    "add" | "min" | "max" | "and" | "or" | "xor" => Atomic::Binary(binary(m, &[], ty)?),
                    _ => return None,
                })
            });
            let op = op.ok_or_else(unknown)?;
            let dst = if name == "atom" { d.sink()? } else { None };
            if name == "atom" {
                d.comma()?;
            }
            let at = d.address()?;
            let b = d.next_arg(ty)?;
            let c = if op == Atomic::CompareAndSwap { d.next_arg(ty)? } else { Arg::Imm(0) };
            Op::Atomic { space: space(&mods), op, ty, dst, at, b, c }
        }
        "bra" => {
            let label = d.r.word()?;
            Op::Branch(*labels.get(&label).ok_or_else(|| format!("line {line}: there is no label `{label}`"))?)
        }
        "bar" | "barrier" if has("warp") => {
            entry.warp_sync = true;
            Op::Warp(Warp::Sync { mask: d.arg(Ty::U32)? })
        }
        "bar" | "barrier" if has("sync") && !has("cluster") => {
            // Barriers of a part of the block would need its count.
            if !matches!(d.arg(Ty::U32)?, Arg::Imm(0)) || d.r.eat(',') {
                return Err(format!("line {line}: only barrier 0 of the whole block is supported"));
            }
            Op::Barrier
        }
        "membar" | "fence" => {
            entry.fences = true;
            Op::Nothing
        }
        "shfl" => Op::Warp(shuffle(&mut d, &mods).ok_or_else(unknown)??),
        "vote" => {
            let vote = mods.iter().find_map(|m| match *m {
                "all" => Some(Vote::All),
                "any" => Some(Vote::Any),
                "uni" => Some(Vote::Uni),
                "ballot" => Some(Vote::Ballot),
                _ => None,
            });
            let dst = d.reg()?;
            d.comma()?;
            let negated = d.r.eat('!');
            let (pred, mask) = (d.arg(Ty::Pred)?, d.next_arg(Ty::U32)?);
            Op::Warp(Warp::Vote { vote: vote.ok_or_else(unknown)?, dst, pred, negated, mask })
        }
        "ret" | "exit" => Op::Exit,
        "trap" => Op::Trap,
        "brkpt" | "nanosleep" | "prefetch" | "prefetchu" => Op::Nothing,
        _ => return Err(unknown()),
    })
}

fn ternary(d: &mut Decoder<'_, '_>, op: Ternary, ty: Ty) -> Result<Op, String> {
    let dst = d.reg()?;
    let (a, b) = (d.next_arg(ty)?, d.next_arg(ty)?);
    Ok(Op::Ternary(op, ty, dst, a, b, d.next_arg(ty)?))
}

fn mov(d: &mut Decoder<'_, '_>, ty: Ty) -> Result<Op, String> {
    if d.r.peek() == Some(&Token::Punct('{')) {
        let dst = d.list(Decoder::sink)?;
        let part = ty.size() / dst.len() as u32;
        return Ok(Op::Unpack(part, dst, d.next_arg(ty)?));
    }
    let dst = d.reg()?;
    d.comma()?;
    if d.r.peek() == Some(&Token::Punct('{')) {
        let args = d.list(|d| d.arg(Ty::B32))?;
        return Ok(Op::Pack(ty.size() / args.len() as u32, dst, args));
    }
    Ok(Op::Mov(dst, d.arg(ty)?))
}

/// `None` where the mode is not known.
fn shuffle(d: &mut Decoder<'_, '_>, mods: &[&str]) -> Option<Result<Warp, String>> {
    let mode = mods.iter().find_map(|m| match *m {
        "up" => Some(Shuffle::Up),
        "down" => Some(Shuffle::Down),
        "bfly" => Some(Shuffle::Bfly),
        "idx" => Some(Shuffle::Idx),
        _ => None,
    })?;
    let mut rest = || {
        let dst = d.reg()?;
        let valid = if d.r.eat('|') { Some(d.reg()?) } else { None };
        let (value, lane) = (d.next_arg(Ty::B32)?, d.next_arg(Ty::U32)?);
        let (clamp, mask) = (d.next_arg(Ty::U32)?, d.next_arg(Ty::U32)?);
        Ok(Warp::Shuffle { mode, dst, valid, value, lane, clamp, mask })
    };
    Some(rest())
}
