//! The rules that the compiler enforces, as programs.
//!
//! - `fail/RULE.rs` breaks one rule; `fail/RULE.stderr` is what the compiler says to that.
//! - `pass/GROUP.rs` does the same things the right way, and is run.
//! - `rules/sources.txt` lists where rules come from, `rules/rows.txt` says which program is there for which.
//! - `docs/rules.md` and `docs/rule-sources.md` are the tables of all that. They are generated.
//!
//! A program in `fail` begins with the rule and what to do instead, then says which errors it ends in (`-` is an error
//! without a code) and where the right way is:
//!
//! ```text
//! // Rule: memory in flight cannot be read.
//! // Instead: wait first, `let host = ctx.synchronize(host)?;`.
//! //~ E0277
//! //~ right: pass/flight.rs
//! ```
//!
//! A `//~ E0277` behind code says that this very line is refused, for programs that try several things.
//!
//! After a change of messages, run `TRYBUILD=overwrite cargo test -p escrow-ui-tests`, read the difference of the
//! `.stderr` files as somebody who never saw the library would, and run the tests again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub mod table;

/// A program in `fail`.
#[derive(Debug)]
pub struct Program {
    /// The file's name, without its end.
    pub name: String,
    /// The rule that it breaks.
    pub rule: String,
    /// All of it.
    pub source: String,
    /// Codes of the errors that it says it ends in.
    pub codes: BTreeSet<String>,
    /// The program that does it right.
    pub right: String,
    /// What the compiler says.
    pub stderr: String,
}

/// The text of a file that is there.
pub fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder whose names end so, in order.
pub fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a folder can be read to its end").path())
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    files.sort();
    files
}

/// All programs in `fail`.
pub fn programs() -> Vec<Program> {
    files("fail", "rs").iter().map(|path| program(path)).collect()
}

fn program(path: &Path) -> Program {
    let name = path.file_stem().and_then(|it| it.to_str()).expect("names are ASCII").to_owned();
    let source = read(path);
    let mut lines = source.lines();
    let mut next = |prefix: &str| {
        let line = lines.next().unwrap_or_default();
        let rest = line.strip_prefix(prefix).unwrap_or_else(|| panic!("{name}: `{line}` should be `{prefix}...`"));
        rest.to_owned()
    };
    let rule = next("// Rule: ");
    next("// Instead: ");
    let codes = next("//~ ").split_whitespace().map(str::to_owned).collect();
    let right = next("//~ right: ");
    // A new program has none yet, and so ends in other errors than it says.
    let stderr = fs::read_to_string(path.with_extension("stderr")).unwrap_or_default();
    Program { name, rule, source, codes, right, stderr }
}

/// The codes of the errors in a message, `-` for one without a code.
pub fn codes_of(stderr: &str) -> BTreeSet<String> {
    let code = |line: &str| {
        let rest = line.strip_prefix("error")?;
        Some(match rest.strip_prefix('[') {
            Some(code) => code.split(']').next().unwrap_or_default().to_owned(),
            None => "-".to_owned(),
        })
    };
    stderr.lines().filter_map(code).collect()
}
