//! As much of PTX as a declaration is compared with: version, target, and the parameters of the kernels.

use std::fmt;
use std::iter::Peekable;
use std::vec;

/// A PTX file.
#[derive(Debug)]
pub(crate) struct Ptx {
    pub(crate) target: Target,
    pub(crate) entries: Vec<Entry>,
}

/// `sm_90a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) number: u32,
    /// `a` or `f`: code for one architecture, or one family of them, and not for those that come later.
    pub(crate) suffix: Option<char>,
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Param {
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) class: Class,
    /// `.ptr`: the address of memory in this space.
    pub(crate) pointer: Option<Space>,
    /// `.ptr .align`: what the memory is aligned to that it points to; 1 where the file promises nothing.
    pub(crate) pointee_align: u64,
    pub(crate) name: String,
    /// As the file has it.
    pub(crate) text: String,
}

/// The memory that a `.ptr` parameter points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// `.global`, or nothing said.
    Global,
    /// `.const`, `.shared`, `.local`: never what a span lies in.
    Other,
}

/// What a type says about the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// `.u32`, `.s32`.
    Integer,
    /// `.f32`.
    Float,
    /// `.b32`: any value of that size.
    Bits,
}

impl Target {
    /// `sm_70`, `sm_90a`.
    pub(crate) fn parse(text: &str) -> Option<Target> {
        let rest = text.strip_prefix("sm_")?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let suffix = match &rest[digits..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        Some(Target { number: rest[..digits].parse().ok()?, suffix })
    }

    /// Whether a device that `newest` stands for may not run code for this target.
    pub(crate) fn is_newer_than(&self, newest: &Target) -> bool {
        self.number > newest.number || (self.suffix.is_some() && self != newest)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A name, a directive with its dot, or a number.
    Word(String),
    Punct(char),
    /// What stands between quotes is of no interest.
    Quoted,
}

/// Words, punctuation and strings, each with its line; comments are left out.
fn tokens(text: &str) -> Result<Vec<(u32, Token)>, String> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
        let len = if let Some(comment) = rest.strip_prefix("//") {
            2 + comment.find('\n').unwrap_or(comment.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            4 + comment.find("*/").ok_or(format!("line {line}: a comment has no end"))?
        } else if let Some(string) = rest.strip_prefix('"') {
            found.push((line, Token::Quoted));
            2 + string.find('"').ok_or(format!("line {line}: a string has no end"))?
        } else if is_word(first) {
            let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            found.push((line, Token::Word(rest[..len].to_owned())));
            len
        } else {
            if !first.is_whitespace() {
                found.push((line, Token::Punct(first)));
            }
            first.len_utf8()
        };
        line += rest[..len].matches('\n').count() as u32;
        rest = &rest[len..];
    }
    Ok(found)
}

struct Reader {
    tokens: Peekable<vec::IntoIter<(u32, Token)>>,
    line: u32,
}

impl Reader {
    fn next(&mut self) -> Option<Token> {
        let (line, token) = self.tokens.next()?;
        self.line = line;
        Some(token)
    }

    fn eat(&mut self, punct: char) -> bool {
        let is_next = matches!(self.tokens.peek(), Some((_, Token::Punct(next))) if *next == punct);
        if is_next {
            self.next();
        }
        is_next
    }

    fn fault(&self, what: impl fmt::Display) -> String {
        format!("line {}: {what}", self.line)
    }

    fn expect(&mut self, punct: char) -> Result<(), String> {
        if self.eat(punct) { Ok(()) } else { Err(self.fault(format!("`{punct}` is missing"))) }
    }

    fn word(&mut self, what: &str) -> Result<String, String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            _ => Err(self.fault(format!("{what} is missing"))),
        }
    }

    fn number(&mut self, what: &str) -> Result<u64, String> {
        let word = self.word(what)?;
        // `U` marks an unsigned literal.
        word.trim_end_matches('U').parse().map_err(|_| self.fault(format!("`{word}` is no number")))
    }

    /// To the end of what `open` has begun.
    fn skip(&mut self, open: char, close: char) -> Result<(), String> {
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some(Token::Punct(punct)) if punct == open => depth += 1,
                Some(Token::Punct(punct)) if punct == close => depth -= 1,
                Some(_) => {}
                None => return Err(self.fault(format!("`{close}` is missing"))),
            }
        }
        Ok(())
    }

    fn entry(&mut self) -> Result<Entry, String> {
        let name = self.word("the name of a kernel")?;
        let mut params = Vec::new();
        if self.eat('(') {
            while !self.eat(')') {
                params.push(self.param()?);
                if !self.eat(',') {
                    self.expect(')')?;
                    break;
                }
            }
        }
        if params.iter().any(|param| param.name == name) {
            return Err(self.fault(format!(
                "a parameter of `{name}` has the kernel's own name, at which the driver's compiler crashes (seen with CUDA 13.0): rename it"
            )));
        }
        Ok(Entry { name, params })
    }

    /// `.param .u64 .ptr .global .align 4 x`, `.param .align 8 .b8 p[24]`.
    fn param(&mut self) -> Result<Param, String> {
        let word = self.word("`.param`")?;
        if word != ".param" {
            return Err(self.fault(format!("`.param` is missing in front of `{word}`")));
        }
        let (mut text, mut align, mut element, mut pointer) = (word, None, None, None);
        let mut pointee_align = 1;
        let name = loop {
            let word = self.word("the name of a parameter")?;
            if !word.starts_with('.') {
                break word;
            }
            text += " ";
            text += &word;
            match word.as_str() {
                ".align" => {
                    let number = self.number("an alignment")?;
                    text = format!("{text} {number}");
                    // Behind `.ptr` it is that of what the pointer points to.
                    if pointer.is_none() {
                        align = Some(number);
                    } else {
                        pointee_align = number;
                    }
                }
                ".ptr" => pointer = Some(Space::Global),
                ".global" | ".generic" => {}
                ".const" | ".shared" | ".local" => pointer = pointer.map(|_| Space::Other),
                ty => {
                    element = Some(scalar(ty).ok_or_else(|| self.fault(format!("`{ty}` is no type of a parameter")))?);
                }
            }
        };
        let (class, width) = element.ok_or_else(|| self.fault(format!("`{name}` has no type")))?;
        text = format!("{text} {name}");
        let mut size = width;
        while self.eat('[') {
            let count = self.number("the size of an array")?;
            size = size.saturating_mul(count);
            text = format!("{text}[{count}]");
            self.expect(']')?;
        }
        Ok(Param { name, size, align: align.unwrap_or(width), class, pointer, pointee_align, text })
    }
}

/// Class and size of a type.
fn scalar(ty: &str) -> Option<(Class, u64)> {
    let bits = |digits: &str| digits.parse::<u64>().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64 | 128));
    let (class, bits) = match ty.strip_prefix('.')? {
        "f16x2" | "bf16x2" => (Class::Float, 32),
        "bf16" => (Class::Float, 16),
        ty => match ty.split_at_checked(1)? {
            ("u" | "s", digits) => (Class::Integer, bits(digits)?),
            ("f", digits) => (Class::Float, bits(digits)?),
            ("b", digits) => (Class::Bits, bits(digits)?),
            _ => return None,
        },
    };
    Some((class, bits / 8))
}

/// Reads a file; what is wrong with it otherwise.
pub(crate) fn parse(text: &str) -> Result<Ptx, String> {
    if text.contains('\0') {
        return Err("it is not text: PTX is what `nvcc -ptx` writes, not a cubin".to_owned());
    }
    let mut reader = Reader { tokens: tokens(text)?.into_iter().peekable(), line: 1 };
    let (mut version, mut target, mut address_size, mut entries) = (None, None, None, Vec::new());
    while let Some(token) = reader.next() {
        match token {
            Token::Punct('{') => reader.skip('{', '}')?,
            Token::Word(word) => match word.as_str() {
                ".version" => version = Some(reader.word("a version")?),
                ".target" => {
                    let word = reader.word("a target")?;
                    let parsed = Target::parse(&word);
                    target = Some(parsed.ok_or_else(|| reader.fault(format!("`{word}` is no target: `sm_70`")))?);
                }
                ".address_size" => address_size = Some(reader.number("an address size")?),
                ".entry" => {
                    let entry = reader.entry()?;
                    entries.push(entry);
                }
                _ => {}
            },
            _ => {}
        }
    }
    if version.is_none() {
        return Err("it has no `.version`, with which PTX begins".to_owned());
    }
    if address_size != Some(64) {
        return Err("it has no `.address_size 64`, and addresses have 64 bits here".to_owned());
    }
    let target = target.ok_or("it has no `.target`")?;
    Ok(Ptx { target, entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 6.0\n.target sm_70\n.address_size 64\n";

    fn entries(rest: &str) -> Vec<Entry> {
        parse(&format!("{HEAD}{rest}")).unwrap().entries
    }

    fn fault(text: &str) -> String {
        parse(text).unwrap_err()
    }

    #[test]
    fn entries_and_their_parameters() {
        let found = entries(
            r#"
            .file 1 "a path with } and { in it"
            .extern .func (.param .b32 ret) vprintf (.param .b64 a, .param .b64 b);
            .global .align 4 .b8 table[4] = {1, 2, 3, 4};
            /* .visible .entry not_this(.param .u32 x) */
            .visible .entry scale( // .param .u64 nor this,
                .param .f32 scale_param_0,
                .param .u64 .ptr .global .align 16 scale_param_1
            )
            .maxntid 256, 1, 1
            { .reg .b32 %r<4>; { } ret; }
            .weak .entry _Z3sumIfEvPT_$1() { ret; }
            .entry bare { ret; }
            .visible .entry by_value(.param .align 16 .b8 p[48], .param .s8 c, .param .align 2 .b8 h[2], .param .b16 m[2][3]) {}
            .section .debug_info { .b32 1 }
            "#,
        );
        let names: Vec<_> = found.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["scale", "_Z3sumIfEvPT_$1", "bare", "by_value"]);
        let params = |at: usize| -> Vec<_> {
            let found = found[at].params.iter();
            found.map(|it| (it.size, it.align, it.class, it.text.as_str())).collect()
        };
        assert_eq!(found[0].params.iter().map(|it| it.pointee_align).collect::<Vec<_>>(), [1, 16]);
        assert_eq!(
            params(0),
            [
                (4, 4, Class::Float, ".param .f32 scale_param_0"),
                (8, 8, Class::Integer, ".param .u64 .ptr .global .align 16 scale_param_1"),
            ]
        );
        assert!(params(1).is_empty() && params(2).is_empty());
        assert_eq!(
            params(3),
            [
                (48, 16, Class::Bits, ".param .align 16 .b8 p[48]"),
                (1, 1, Class::Integer, ".param .s8 c"),
                (2, 2, Class::Bits, ".param .align 2 .b8 h[2]"),
                (12, 2, Class::Bits, ".param .b16 m[2][3]"),
            ]
        );
    }

    #[test]
    fn targets() {
        let target = |text: &str| Target::parse(text).unwrap();
        assert_eq!(target("sm_90a"), Target { number: 90, suffix: Some('a') });
        assert_eq!(target("sm_120f").to_string(), "sm_120f");
        for wrong in ["sm_", "sm_90b", "compute_90", "90", "sm_9x"] {
            assert_eq!(Target::parse(wrong), None, "{wrong}");
        }
        assert!(!target("sm_70").is_newer_than(&target("sm_70")));
        assert!(target("sm_100").is_newer_than(&target("sm_90")));
        assert!(target("sm_90a").is_newer_than(&target("sm_90")), "it runs on that one only");
        assert!(target("sm_80a").is_newer_than(&target("sm_90")));
        assert!(!target("sm_90a").is_newer_than(&target("sm_90a")));
        assert!(!target("sm_80").is_newer_than(&target("sm_90a")));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        assert_eq!(fault(""), "it has no `.version`, with which PTX begins");
        assert_eq!(fault(".version 6.0\n.address_size 64"), "it has no `.target`");
        assert!(fault(".version 6.0\n.target sm_70").contains("`.address_size 64`"));
        assert!(fault("\u{7f}ELF\0").contains("cubin"));
        let fault = |rest: &str| fault(&format!("{HEAD}{rest}"));
        assert_eq!(fault("/* .entry"), "line 4: a comment has no end");
        assert_eq!(fault("\"x"), "line 4: a string has no end");
        assert_eq!(fault(".entry"), "line 4: the name of a kernel is missing");
        assert_eq!(fault(".entry f("), "line 4: `.param` is missing");
        assert_eq!(fault(".entry f(.param .u32)"), "line 4: the name of a parameter is missing");
        assert_eq!(fault(".entry f(\n.param .pred x)"), "line 5: `.pred` is no type of a parameter");
        assert_eq!(fault(".entry f(.param x)"), "line 4: `x` has no type");
        assert_eq!(fault(".entry f(.param .u32 x .param .u32 y)"), "line 4: `)` is missing");
        assert_eq!(fault(".entry f(.param .b8 x[n])"), "line 4: `n` is no number");
        assert!(fault(".entry f(.param .u32 f)").contains("own name"));
        assert_eq!(fault(".entry f()\n{ {"), "line 5: `}` is missing");
        assert_eq!(
            parse(".version 6.0\n.target compute_70").unwrap_err(),
            "line 2: `compute_70` is no target: `sm_70`"
        );
    }

    #[test]
    fn no_text_is_a_panic() {
        let whole =
            format!("{HEAD}.visible .entry f(.param .align 8 .b8 p[24], .param .u64 .ptr x) /* é */ {{ ret; }} \"é\"");
        for end in (0..=whole.len()).filter(|&end| whole.is_char_boundary(end)) {
            let _ = parse(&whole[..end]);
            let _ = parse(&whole[end..]);
        }
    }
}
