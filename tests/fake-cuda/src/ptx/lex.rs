//! PTX text to tokens.

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A name, opcode, register or directive, with its dots.
    Word(String),
    /// An integer.
    Int(u64),
    /// A float as written: its bits, and whether it has 32 of them.
    Float(u64, bool),
    /// A decimal float; its type is the instruction's.
    Decimal(f64),
    /// Anything else.
    Punct(char),
}

/// A token and its line.
pub(super) type Spot = (Token, u32);

/// Takes comments and the debugger's line directives away; keeps line breaks.
fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            out.push('/');
            1
        };
        out.extend(rest[..end].chars().filter(|c| *c == '\n'));
        rest = &rest[end..];
    }
    out.push_str(rest);
    let debug = |line: &str| matches!(line.split_whitespace().next(), Some(".loc" | ".file"));
    out.lines().flat_map(|line| [if debug(line) { "" } else { line }, "\n"]).collect()
}

fn number(text: &str) -> Option<Token> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f").filter(|h| h.len() == 8) {
        return u64::from_str_radix(hex, 16).ok().map(|bits| Token::Float(bits, true));
    }
    if let Some(hex) = lower.strip_prefix("0d").filter(|h| h.len() == 16) {
        return u64::from_str_radix(hex, 16).ok().map(|bits| Token::Float(bits, false));
    }
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    if let Some(hex) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(Token::Int);
    }
    if let Some(bits) = digits.strip_prefix("0b") {
        return u64::from_str_radix(bits, 2).ok().map(Token::Int);
    }
    digits.parse().ok().map(Token::Int).or_else(|| lower.parse().ok().map(Token::Decimal))
}

/// Splits a text.
pub(super) fn lex(text: &str) -> Result<Vec<Spot>, String> {
    let text = strip(text);
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
        if c == '\n' {
            line += 1;
        }
        if c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
        } else if c == '"' {
            let end = rest[1..].find('"').ok_or(format!("line {line}: text without an end"))?;
            rest = &rest[end + 2..];
        } else if c.is_ascii_digit() {
            let mut end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
            // 1e-3, but not 0x1e-3.
            if rest[..end].ends_with(['e', 'E']) && !rest.starts_with("0x") && rest[end..].starts_with(['-', '+']) {
                end += 1 + rest[end + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - end - 1);
            }
            let token = number(&rest[..end]).ok_or(format!("line {line}: `{}` is no number", &rest[..end]))?;
            tokens.push((token, line));
            rest = &rest[end..];
        } else if word(c) {
            let mut end = rest.find(|c: char| !word(c)).unwrap_or(rest.len());
            // `shared::cta`, `L1::no_allocate`.
            while rest[end..].starts_with("::") {
                end += 2 + rest[end + 2..].find(|c: char| !word(c)).unwrap_or(rest.len() - end - 2);
            }
            tokens.push((Token::Word(rest[..end].to_owned()), line));
            rest = &rest[end..];
        } else {
            tokens.push((Token::Punct(c), line));
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(tokens)
}
