//! Values: registers hold 64 bits, operations look at as many as their type has.

use super::ir::*;

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// What an f32 operation gives: all NaNs are one, as seen on an H200 (f64 operations keep theirs).
fn bits32(x: f32) -> u64 {
    if x.is_nan() { 0x7FFF_FFFF } else { u64::from(x.to_bits()) }
}

/// The value as its type has it: cut, and with its sign.
pub(super) fn extend(ty: Ty, bits: u64) -> u64 {
    match ty {
        Ty::Pred => bits & 1,
        Ty::B8 | Ty::U8 => u64::from(bits as u8),
        Ty::B16 | Ty::U16 => u64::from(bits as u16),
        Ty::B32 | Ty::U32 | Ty::F32 => u64::from(bits as u32),
        Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => bits,
        Ty::S8 => i64::from(bits as i8) as u64,
        Ty::S16 => i64::from(bits as i16) as u64,
        Ty::S32 => i64::from(bits as i32) as u64,
    }
}

/// `ty`'s bits of a value, without a sign above them.
fn cut(ty: Ty, bits: u64) -> u64 {
    match ty.size() {
        1 => bits & 0xFF,
        2 => bits & 0xFFFF,
        4 => bits & 0xFFFF_FFFF,
        _ => bits,
    }
}

fn float_binary(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    macro_rules! apply {
        ($a:expr, $b:expr, $wrap:expr) => {{
            let (a, b) = ($a, $b);
            $wrap(match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Div => a / b,
                Binary::Min => a.min(b),
                Binary::Max => a.max(b),
                _ => a * b,
            })
        }};
    }
    if ty == Ty::F32 {
        apply!(f32_of(a), f32_of(b), bits32)
    } else {
        apply!(f64::from_bits(a), f64::from_bits(b), f64::to_bits)
    }
}

pub(super) fn binary(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    if ty.float() {
        return float_binary(op, ty, a, b);
    }
    let bits = ty.size() * 8;
    if op == Binary::Shl {
        let by = b as u32;
        return if by >= bits { 0 } else { cut(ty, a << by) };
    }
    if op == Binary::Shr {
        let by = (b as u32).min(bits - 1);
        let whole = b as u32 >= bits && !ty.signed();
        let a = extend(ty, a);
        return cut(
            ty,
            if ty.signed() {
                ((a as i64) >> by) as u64
            } else if whole {
                0
            } else {
                a >> by
            },
        );
    }
    let (a, b) = (extend(ty, a), extend(ty, b));
    let (sa, sb) = (a as i64, b as i64);
    let signed = ty.signed();
    let wide = || if signed { (i128::from(sa) * i128::from(sb)) as u128 } else { u128::from(a) * u128::from(b) };
    let result = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::MulLo => a.wrapping_mul(b),
        Binary::MulHi => (wide() >> bits) as u64,
        // Twice as many bits.
        Binary::MulWide => return if bits == 32 { wide() as u64 } else { u64::from(wide() as u32) },
        // Division by zero gives some value, as on a GPU.
        Binary::Div if b == 0 => u64::MAX,
        Binary::Rem if b == 0 => a,
        Binary::Div if signed => sa.wrapping_div(sb) as u64,
        Binary::Rem if signed => sa.wrapping_rem(sb) as u64,
        Binary::Div => a / b,
        Binary::Rem => a % b,
        Binary::Min if signed => sa.min(sb) as u64,
        Binary::Max if signed => sa.max(sb) as u64,
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl | Binary::Shr => a,
    };
    cut(ty, result)
}

pub(super) fn unary(op: Unary, ty: Ty, a: u64) -> u64 {
    macro_rules! float {
        ($a:expr, $wrap:expr) => {{
            let a = $a;
            $wrap(match op {
                Unary::Neg => -a,
                Unary::Abs => a.abs(),
                Unary::Rcp => 1.0 / a,
                Unary::Sqrt => a.sqrt(),
                Unary::Rsqrt => 1.0 / a.sqrt(),
                Unary::Ex2 => a.exp2(),
                Unary::Lg2 => a.log2(),
                Unary::Sin => a.sin(),
                Unary::Cos => a.cos(),
                Unary::Tanh => a.tanh(),
                Unary::Not | Unary::Cnot | Unary::Popc | Unary::Clz | Unary::Brev => a,
            })
        }};
    }
    match ty {
        Ty::F32 => return float!(f32_of(a), bits32),
        Ty::F64 => return float!(f64::from_bits(a), f64::to_bits),
        _ => {}
    }
    let bits = ty.size() * 8;
    let a = extend(ty, a);
    let plain = cut(ty, a);
    match op {
        Unary::Neg => cut(ty, a.wrapping_neg()),
        Unary::Abs => cut(ty, (a as i64).unsigned_abs()),
        Unary::Not if ty == Ty::Pred => a ^ 1,
        Unary::Not => cut(ty, !a),
        Unary::Cnot => u64::from(plain == 0),
        Unary::Popc => u64::from(plain.count_ones()),
        Unary::Clz => u64::from(plain.leading_zeros() - (64 - bits)),
        Unary::Brev => plain.reverse_bits() >> (64 - bits),
        _ => a,
    }
}

pub(super) fn ternary(op: Ternary, ty: Ty, a: u64, b: u64, c: u64) -> u64 {
    match op {
        Ternary::Fma if ty == Ty::F32 => bits32(f32_of(a).mul_add(f32_of(b), f32_of(c))),
        Ternary::Fma => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits(),
        Ternary::MadLo => binary(Binary::Add, ty, binary(Binary::MulLo, ty, a, b), c),
        Ternary::MadHi => binary(Binary::Add, ty, binary(Binary::MulHi, ty, a, b), c),
        Ternary::MadWide => {
            let product = binary(Binary::MulWide, ty, a, b);
            if ty.size() == 4 { product.wrapping_add(c) } else { u64::from((product as u32).wrapping_add(c as u32)) }
        }
        Ternary::Bfe => {
            let bits = ty.size() * 8;
            let (at, len) = (b as u32 & 0xFF, c as u32 & 0xFF);
            if len == 0 {
                return 0;
            }
            // Bits above the field, and those that the value does not have, are the field's highest.
            let bit = |i: u32| a >> i & 1;
            let sign = if ty.signed() { bit((at + len - 1).min(bits - 1)) } else { 0 };
            (0..bits).map(|i| (if i < len && at + i < bits { bit(at + i) } else { sign }) << i).sum()
        }
        Ternary::Lop3(table) => (0..32).fold(0, |all, bit| {
            let pick = |x: u64| (x >> bit) & 1;
            let row = pick(a) << 2 | pick(b) << 1 | pick(c);
            all | (u64::from(table) >> row & 1) << bit
        }),
        Ternary::Prmt => {
            let bytes = (a & 0xFFFF_FFFF) | b << 32;
            (0..4).fold(0, |all, i| {
                let pick = c >> (i * 4);
                let byte = bytes >> ((pick & 7) * 8) & 0xFF;
                let byte = if pick & 8 == 0 { byte } else { (byte >> 7) * 0xFF };
                all | byte << (i * 8)
            })
        }
        Ternary::ShfL(wrap) | Ternary::ShfR(wrap) => {
            let pair = (a & 0xFFFF_FFFF) | b << 32;
            let by = if wrap { c as u32 & 31 } else { (c as u32).min(32) };
            if matches!(op, Ternary::ShfR(_)) { pair >> by & 0xFFFF_FFFF } else { (pair << by) >> 32 }
        }
    }
}

fn as_float(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::F32 => f64::from(f32_of(bits)),
        Ty::F64 => f64::from_bits(bits),
        _ if ty.signed() => extend(ty, bits) as i64 as f64,
        _ => extend(ty, bits) as f64,
    }
}

fn to_integer(ty: Ty, x: f64) -> u64 {
    match ty {
        Ty::S64 | Ty::U64 | Ty::B64 if x.is_nan() => 1 << 63,
        Ty::S8 => u64::from(x as i8 as u8),
        Ty::S16 => u64::from(x as i16 as u16),
        Ty::S32 => u64::from(x as i32 as u32),
        Ty::S64 => x as i64 as u64,
        Ty::U8 | Ty::B8 => u64::from(x as u8),
        Ty::U16 | Ty::B16 => u64::from(x as u16),
        Ty::U32 | Ty::B32 => u64::from(x as u32),
        _ => x as u64,
    }
}

fn rounded(round: Round, x: f64) -> f64 {
    match round {
        Round::None => x,
        Round::Nearest => x.round_ties_even(),
        Round::Zero => x.trunc(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
    }
}

pub(super) fn convert(to: Ty, from: Ty, round: Round, saturate: bool, bits: u64) -> u64 {
    match (from.float(), to.float()) {
        (false, false) => {
            let value =
                if from.signed() { i128::from(extend(from, bits) as i64) } else { i128::from(extend(from, bits)) };
            if !saturate {
                // With its sign above: a wider register may be read by wider instructions.
                return extend(to, value as u64);
            }
            let width = to.size() * 8;
            let (least, most) = if to.signed() {
                (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
            } else {
                (0, (1i128 << width) - 1)
            };
            extend(to, value.clamp(least, most) as u64)
        }
        (true, false) => to_integer(to, rounded(round, as_float(from, bits))),
        (false, true) if to == Ty::F32 => {
            let value = extend(from, bits);
            bits32(if from.signed() { value as i64 as f32 } else { value as f32 })
        }
        (false, true) => as_float(from, bits).to_bits(),
        (true, true) => {
            let mut x = rounded(round, as_float(from, bits));
            if saturate {
                x = if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) + 0.0 };
            }
            match (from, to) {
                // The one conversion that keeps a NaN's bits.
                (Ty::F64, Ty::F32) => u64::from((x as f32).to_bits()),
                (_, Ty::F32) => bits32(x as f32),
                _ => x.to_bits(),
            }
        }
    }
}

pub(super) fn compare(compare: Compare, ty: Ty, a: u64, b: u64) -> bool {
    use std::cmp::Ordering;
    let order = if ty.float() {
        as_float(ty, a).partial_cmp(&as_float(ty, b))
    } else if ty.signed() {
        Some((extend(ty, a) as i64).cmp(&(extend(ty, b) as i64)))
    } else {
        Some(extend(ty, a).cmp(&extend(ty, b)))
    };
    match compare {
        Compare::Num => order.is_some(),
        Compare::Nan => order.is_none(),
        Compare::Eq(u) => order.map_or(u, Ordering::is_eq),
        Compare::Ne(u) => order.map_or(u, Ordering::is_ne),
        Compare::Lt(u) => order.map_or(u, Ordering::is_lt),
        Compare::Le(u) => order.map_or(u, Ordering::is_le),
        Compare::Gt(u) => order.map_or(u, Ordering::is_gt),
        Compare::Ge(u) => order.map_or(u, Ordering::is_ge),
    }
}

/// What an atomic leaves in memory.
pub(super) fn atomic(op: Atomic, ty: Ty, old: u64, b: u64, c: u64) -> u64 {
    let (old, b) = (cut(ty, old), cut(ty, b));
    match op {
        Atomic::Binary(op) => binary(op, ty, old, b),
        Atomic::Exchange => b,
        Atomic::CompareAndSwap => {
            if old == b {
                cut(ty, c)
            } else {
                old
            }
        }
        Atomic::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        Atomic::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(binary(Binary::Add, Ty::U32, 0xFFFF_FFFF, 1), 0);
        assert_eq!(binary(Binary::MulHi, Ty::S32, u64::from(-2i32 as u32), 3), 0xFFFF_FFFF);
        assert_eq!(binary(Binary::MulWide, Ty::S32, u64::from(-2i32 as u32), 3), -6i64 as u64);
        assert_eq!(binary(Binary::MulWide, Ty::U16, 0xFFFF, 0xFFFF), 0xFFFE_0001);
        assert_eq!(binary(Binary::MulHi, Ty::U64, u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!(binary(Binary::Shr, Ty::S32, 0x8000_0000, 40), 0xFFFF_FFFF);
        assert_eq!(binary(Binary::Shl, Ty::B32, 1, 32), 0);
        assert_eq!(binary(Binary::Div, Ty::S32, u64::from(-7i32 as u32), 2), u64::from(-3i32 as u32));
        assert_eq!(unary(Unary::Clz, Ty::B32, 1), 31);
        assert_eq!(unary(Unary::Brev, Ty::B32, 1), 0x8000_0000);
        assert_eq!(ternary(Ternary::Bfe, Ty::U32, 0xABCD, 4, 8), 0xBC);
        assert_eq!(ternary(Ternary::Lop3(0x96), Ty::B32, 0b1100, 0b1010, 0b1111), 0b1100 ^ 0b1010 ^ 0b1111);
        assert_eq!(ternary(Ternary::Prmt, Ty::B32, 0x0403_0201, 0x0807_0605, 0x7531), 0x0806_0402);
        assert_eq!(ternary(Ternary::ShfL(true), Ty::B32, 0x8000_0000, 1, 1), 3);
    }

    #[test]
    fn floats_and_conversions() {
        let f = |x: f32| bits32(x);
        assert_eq!(ternary(Ternary::Fma, Ty::F32, f(2.0), f(3.0), f(1.0)), f(7.0));
        assert_eq!(convert(Ty::S32, Ty::F32, Round::Zero, false, f(-2.9)), u64::from(-2i32 as u32));
        assert_eq!(convert(Ty::F32, Ty::F32, Round::Down, false, f(2.9)), f(2.0));
        assert_eq!(convert(Ty::F32, Ty::S32, Round::None, false, u64::from(-3i32 as u32)), f(-3.0));
        assert_eq!(convert(Ty::S64, Ty::S32, Round::None, false, u64::from(-3i32 as u32)), -3i64 as u64);
        assert_eq!(convert(Ty::U8, Ty::S32, Round::None, true, 300), 255);
        assert!(compare(Compare::Ne(true), Ty::F32, f(f32::NAN), f(1.0)));
        assert!(!compare(Compare::Lt(false), Ty::F32, f(f32::NAN), f(1.0)));
        assert!(compare(Compare::Lt(false), Ty::S32, u64::from(-1i32 as u32), 1));
    }
}
