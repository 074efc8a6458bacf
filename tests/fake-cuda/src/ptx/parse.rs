//! Tokens to kernels: directives, declarations, labels. Instructions are decoded in [`super::decode`].

use std::collections::HashMap;

use super::decode::decode;
use super::ir::*;
use super::lex::{Spot, Token, lex};

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Reg(Reg),
    /// An offset in the memory that it was declared for.
    At(u64),
}

/// Reads tokens.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    tokens: &'a [Spot],
    at: usize,
}

impl Reader<'_> {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |t| t.1)
    }

    pub(super) fn next(&mut self) -> Result<Token, String> {
        let token = self.tokens.get(self.at).map(|t| t.0.clone());
        self.at += 1;
        token.ok_or_else(|| "the text ends too early".to_owned())
    }

    /// Takes a character if it comes next.
    pub(super) fn eat(&mut self, c: char) -> bool {
        let there = self.peek() == Some(&Token::Punct(c));
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, c: char) -> Result<(), String> {
        if self.eat(c) { Ok(()) } else { Err(self.wrong(&format!("`{c}`"))) }
    }

    pub(super) fn wrong(&self, expected: &str) -> String {
        format!("line {}: expected {expected}, found {:?}", self.line(), self.peek())
    }

    pub(super) fn word(&mut self) -> Result<String, String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.wrong("a name")),
        }
    }

    fn int(&mut self) -> Result<u64, String> {
        match self.peek() {
            Some(Token::Int(n)) => {
                let n = *n;
                self.at += 1;
                Ok(n)
            }
            _ => Err(self.wrong("a number")),
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.at += usize::from(there);
        there
    }
}

/// A declared variable or parameter.
struct Variable {
    name: String,
    size: u64,
    align: u64,
    /// `name[]`: dynamic shared memory.
    open: bool,
}

/// `.align 8 .b8 name[24]`, `.u64 .ptr .global .align 4 name`.
fn variable(r: &mut Reader<'_>) -> Result<Variable, String> {
    let (mut align, mut ty, mut pointer) = (None, None, false);
    loop {
        let line = r.line();
        let word = r.word()?;
        match word.as_str() {
            ".align" => {
                let n = r.int()?;
                // Behind `.ptr` it is what the pointer points to.
                if !pointer {
                    align = Some(n);
                }
            }
            ".ptr" => pointer = true,
            ".global" | ".const" | ".shared" | ".local" | ".param" | ".volatile" => {}
            _ => {
                if let Some(name) = word.strip_prefix('.') {
                    ty = Some(Ty::parse(name).ok_or(format!("line {line}: type `{word}` is not supported"))?);
                    continue;
                }
                let element = u64::from(ty.ok_or(format!("line {line}: `{word}` has no type"))?.size());
                let (mut size, mut open) = (element, false);
                while r.eat('[') {
                    if r.eat(']') {
                        (size, open) = (0, true);
                    } else {
                        size = size.checked_mul(r.int()?).ok_or(format!("line {line}: `{word}` is too large"))?;
                        r.expect(']')?;
                    }
                }
                let align = align.unwrap_or(element);
                if !align.is_power_of_two() || size > 1 << 24 {
                    return Err(format!("line {line}: `{word}` has a bad size or alignment"));
                }
                return Ok(Variable { name: word, size, align, open });
            }
        }
    }
}

/// Names of a kernel while it is parsed.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) names: HashMap<String, Name>,
    registers: u32,
    shared: u64,
    local: u64,
    /// Dynamic shared memory starts behind all static shared memory, which is known at the end.
    dynamic: Vec<String>,
}

impl Scope {
    fn shared(&mut self, v: Variable) {
        if v.open {
            self.dynamic.push(v.name);
            return;
        }
        let at = self.shared.next_multiple_of(v.align);
        self.shared = at + v.size;
        self.names.insert(v.name, Name::At(at));
    }

    /// `.reg .b32 %r<10>;`, `.reg .pred %p, %q;`
    fn registers(&mut self, r: &mut Reader<'_>) -> Result<(), String> {
        let line = r.line();
        let ty = r.word()?;
        // 16-bit floats and 128-bit integers only as bits to move around.
        if !matches!(ty.as_str(), ".f16" | ".f16x2" | ".bf16") && Ty::parse(ty.trim_start_matches('.')).is_none() {
            return Err(format!("line {line}: registers of type `{ty}` are not supported"));
        }
        loop {
            let name = r.word()?;
            if r.eat('<') {
                for i in 0..r.int()? {
                    self.register(format!("{name}{i}"));
                }
                r.expect('>')?;
            } else {
                self.register(name);
            }
            if !r.eat(',') {
                return r.expect(';');
            }
        }
    }

    fn register(&mut self, name: String) {
        self.names.insert(name, Name::Reg(self.registers));
        self.registers += 1;
    }
}

/// An instruction that is not decoded yet: its place in the tokens.
struct Raw {
    at: usize,
    guard: Option<(String, bool)>,
}

/// `{ ... }` of a kernel.
fn body(r: &mut Reader<'_>, entry: &mut Entry, scope: &mut Scope) -> Result<(), String> {
    let (mut raw, mut labels, mut depth) = (Vec::new(), HashMap::new(), 1);
    r.expect('{')?;
    while depth > 0 {
        if r.eat('{') {
            depth += 1;
            continue;
        }
        if r.eat('}') {
            depth -= 1;
            continue;
        }
        if r.eat(';') {
            continue;
        }
        let guard = if r.eat('@') {
            let negated = r.eat('!');
            Some((r.word()?, !negated))
        } else {
            None
        };
        let at = r.at;
        let line = r.line();
        let word = r.word()?;
        match word.as_str() {
            ".reg" => scope.registers(r)?,
            ".shared" | ".local" => {
                let v = variable(r)?;
                if word == ".shared" {
                    scope.shared(v);
                } else {
                    let at = scope.local.next_multiple_of(v.align);
                    scope.local = at + v.size;
                    scope.names.insert(v.name, Name::At(at));
                }
                r.expect(';')?;
            }
            ".pragma" => r.expect(';')?,
            _ if word.starts_with('.') => return Err(format!("line {line}: `{word}` is not supported")),
            _ if r.eat(':') => drop(labels.insert(word, raw.len())),
            _ => {
                raw.push(Raw { at, guard });
                while !r.eat(';') {
                    // Vectors of registers are in braces too.
                    r.next()?;
                }
            }
        }
    }
    let dynamic_at = scope.shared.next_multiple_of(16);
    for name in std::mem::take(&mut scope.dynamic) {
        scope.names.insert(name, Name::At(dynamic_at));
    }
    let end = r.at;
    for item in raw {
        r.at = item.at;
        let line = r.line();
        let guard = match item.guard {
            None => None,
            Some((name, value)) => match scope.names.get(&name) {
                Some(Name::Reg(reg)) => Some((*reg, value)),
                _ => return Err(format!("line {line}: `{name}` is no register")),
            },
        };
        let op = decode(r, scope, &labels, entry).map_err(|e| format!("{}: {e}", entry.name))?;
        entry.code.push(Inst { guard, op, line });
    }
    r.at = end;
    entry.registers = scope.registers;
    entry.shared_bytes = scope.shared as u32;
    entry.local_bytes = scope.local as u32;
    Ok(())
}

/// A kernel behind `.entry`.
fn entry(r: &mut Reader<'_>, shared: &Scope) -> Result<Entry, String> {
    let mut entry = Entry { name: r.word()?, max_threads: 1024, ..Entry::default() };
    let mut scope = Scope {
        names: shared.names.clone(),
        shared: shared.shared,
        dynamic: shared.dynamic.clone(),
        ..Scope::default()
    };
    if r.eat('(') {
        while !r.eat(')') {
            if !r.eat_word(".param") {
                return Err(r.wrong("`.param`"));
            }
            let v = variable(r)?;
            let offset = u64::from(entry.param_bytes).next_multiple_of(v.align);
            entry.param_bytes = (offset + v.size) as u32;
            scope.names.insert(v.name.clone(), Name::At(offset));
            entry.params.push(Param { name: v.name, offset: offset as u32, size: v.size as u32 });
            r.eat(',');
        }
    }
    if entry.param_bytes > 32764 {
        return Err(format!("{}: {} bytes of parameters are too many", entry.name, entry.param_bytes));
    }
    while r.peek() != Some(&Token::Punct('{')) {
        match r.word()?.as_str() {
            directive @ (".maxntid" | ".reqntid") => {
                let mut threads = r.int()?;
                while r.eat(',') {
                    threads = threads.saturating_mul(r.int()?);
                }
                let _ = directive;
                entry.max_threads = (threads as u32).min(1024);
            }
            ".minnctapersm" | ".maxnctapersm" | ".maxnreg" => drop(r.int()?),
            ".noreturn" | ".pragma" => {}
            other => return Err(format!("{}: `{other}` is not supported", entry.name)),
        }
        r.eat(';');
    }
    body(r, &mut entry, &mut scope)?;
    Ok(entry)
}

/// All kernels of a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let tokens = lex(text)?;
    let mut r = Reader { tokens: &tokens, at: 0 };
    let (mut entries, mut shared, mut version) = (Vec::new(), Scope::default(), false);
    while r.peek().is_some() {
        let line = r.line();
        match r.word()?.as_str() {
            ".version" => {
                r.next()?;
                version = true;
            }
            ".target" => {
                r.word()?;
                while r.eat(',') {
                    r.word()?;
                }
            }
            ".address_size" => {
                if r.int()? != 64 {
                    return Err(format!("line {line}: only 64-bit addresses are supported"));
                }
            }
            ".visible" | ".weak" | ".extern" => {}
            ".shared" => {
                let v = variable(&mut r)?;
                shared.shared(v);
                r.expect(';')?;
            }
            ".entry" => entries.push(entry(&mut r, &shared)?),
            ".section" => {
                while !r.eat('}') {
                    r.next()?;
                }
            }
            other => return Err(format!("line {line}: `{other}` is not supported outside of a kernel")),
        }
    }
    if version { Ok(entries) } else { Err("there is no .version".to_owned()) }
}
