//! Texts as Mojo 1.2 prints them.

use std::fmt::{self, Write};

use super::DType;

/// From so many elements on, only the first and last few are written.
const COMPACT_FROM: usize = 1000;
const COMPACT_ENDS: usize = 3;

/// `HostBuffer([0.0, 0.25, 0.5])`; from 1000 elements on `HostBuffer([0.0, 0.25, 0.5, ..., 249.25, 249.5, 249.75])`.
pub(crate) fn print_list<T: DType>(name: &str, items: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{name}([")?;
    if items.len() < COMPACT_FROM {
        print_items(items, f)?;
    } else {
        print_items(&items[..COMPACT_ENDS], f)?;
        f.write_str(", ..., ")?;
        print_items(&items[items.len() - COMPACT_ENDS..], f)?;
    }
    f.write_str("])")
}

fn print_items<T: DType>(items: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        item.print(f)?;
    }
    Ok(())
}

macro_rules! print_float {
    ($name:ident, $ty:ident) => {
        pub(crate) fn $name(value: $ty, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            if value.is_nan() {
                return f.write_str("nan");
            }
            if value.is_sign_negative() {
                f.write_str("-")?;
            }
            let value = value.abs();
            if value.is_infinite() {
                return f.write_str("inf");
            }
            // The shortest text that reads back as the value, as digits and the exponent of the first one.
            let mut text = String::with_capacity(32);
            write!(text, "{value:e}")?;
            let (digits, exponent) = split(&text);
            if let Some(lower) = below(&digits)
                && format!("{lower}e{}", exponent - places(&lower)).parse() == Ok(value)
                && is_tie(&lower, &format!("{value:.800e}"))
            {
                return layout(&lower, exponent, f);
            }
            layout(&digits, exponent, f)
        }
    };
}

print_float!(print_f32, f32);
print_float!(print_f64, f64);

/// `"3.25e-1"` as `("325", -1)`.
fn split(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Decimal places that follow the first of these digits.
fn places(digits: &str) -> i32 {
    digits.len() as i32 - 1
}

/// The digits of the next lower text of the same length. The last of the shortest digits is never 0.
fn below(digits: &str) -> Option<String> {
    let last = *digits.as_bytes().last()?;
    (last > b'1').then(|| format!("{}{}", &digits[..digits.len() - 1], (last - 1) as char))
}

/// Whether the exact value lies in the middle between `lower` and the next higher text of the same length. There Rust
/// takes the higher one and Mojo the lower.
fn is_tie(lower: &str, exact: &str) -> bool {
    split(exact).0.strip_prefix(lower).is_some_and(|rest| rest.trim_end_matches('0') == "5")
}

/// Puts point and exponent where Mojo has them.
fn layout(digits: &str, exponent: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if digits == "0" {
        return f.write_str("0.0");
    }
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(f, "{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs());
    }
    if exponent < 0 {
        let zeros = exponent.unsigned_abs() as usize - 1;
        return write!(f, "0.{:0<zeros$}{digits}", "");
    }
    let whole = exponent as usize + 1;
    if digits.len() > whole {
        write!(f, "{}.{}", &digits[..whole], &digits[whole..])
    } else {
        write!(f, "{digits:0<whole$}.0")
    }
}
