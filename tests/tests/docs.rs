//! Every public item of `escrow` has a running example in its documentation.
//!
//! The sources are read line by line, which is enough for code that rustfmt has formatted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Items that must have an example.
const KINDS: [&str; 8] = [
    "pub fn ",
    "pub const fn ",
    "pub unsafe fn ",
    "pub struct ",
    "pub enum ",
    "pub trait ",
    "pub unsafe trait ",
    "pub use escrow_macros::",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What `lib.rs` exports by `pub use`.
fn exported(lib: &str) -> BTreeSet<String> {
    lib.split("\npub use ")
        .skip(1)
        .filter_map(|rest| rest.split(';').next())
        .flat_map(|list| list.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .map(str::to_owned)
        .collect()
}

/// The identifier that `text` starts with; a `$name` of a macro too.
fn name(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap_or("")
}

/// The type of `impl<..> Type<..> {`; `None` for the implementation of a trait.
fn implemented(header: &str) -> Option<&str> {
    let mut rest = header.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        })?;
        rest = &rest[end + 1..];
    }
    if rest.contains(" for ") { None } else { Some(name(rest.trim_start())) }
}

/// Opening fences of a documentation, as the text behind the backticks.
fn fences<'d>(docs: &[&'d str]) -> Vec<&'d str> {
    docs.iter().filter_map(|line| line.strip_prefix("```")).step_by(2).collect()
}

/// A block of code that has items: an `impl` of a type, or a trait.
struct Block {
    indent: usize,
    of: String,
    is_trait: bool,
    public: bool,
}

/// Looks through one file. Counts the items that must have an example; returns those that have none.
fn check(text: &str, exported: &BTreeSet<String>, items: &mut usize) -> Vec<String> {
    let is_exported = |name: &str| name.starts_with('$') || exported.contains(name);
    let mut offenders = Vec::new();
    let (mut docs, mut hidden, mut macro_export, mut in_attribute) = (Vec::new(), false, false, false);
    let mut block: Option<Block> = None;
    let mut in_call = false; // of a macro at the top, as in `float8! { /// Docs .. Name, .. }`

    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if in_attribute {
            in_attribute = line != ")]";
            continue;
        }
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim_start());
            continue;
        }
        if line.starts_with("#[") {
            hidden |= line == "#[doc(hidden)]";
            macro_export |= line == "#[macro_export]";
            in_attribute = !line.contains(']');
            continue;
        }
        if block.as_ref().is_some_and(|block| line == "}" && indent == block.indent) {
            block = None;
        }

        let kind = KINDS.iter().find(|kind| line.starts_with(**kind));
        let named = kind.map_or("", |kind| name(&line[kind.len()..]));
        let is_method = block.is_some();
        let needed = match (&block, kind) {
            (_, Some(kind)) if kind.ends_with("::") => true,
            (Some(block), Some(kind)) if kind.ends_with("fn ") => block.public && is_exported(&block.of),
            (Some(block), None) if block.is_trait && (line.starts_with("fn ") || line.starts_with("unsafe fn ")) => {
                block.public && is_exported(&block.of)
            }
            // A macro's `pub struct $name` has its documentation where the macro is called.
            (None, Some(_)) => exported.contains(named),
            (None, None) if in_call => !docs.is_empty() && exported.contains(name(line)),
            (None, None) => macro_export && line.starts_with("macro_rules! "),
            _ => false,
        };
        let fences = fences(&docs);
        if needed && !hidden {
            *items += 1;
            if !fences.iter().any(|fence| matches!(*fence, "" | "should_panic")) {
                let of = block.as_ref().map_or(String::new(), |block| format!(" (in `{}`)", block.of));
                offenders.push(format!("{}: {line}{of}", number + 1));
            }
        }
        // Elsewhere too: on stable rustdoc a block without a code passes whatever the reason of its failure.
        if fences.iter().any(|fence| fence.starts_with("compile_fail") && !fence.contains(",E0")) {
            offenders.push(format!("{}: `compile_fail` without an error code: {line}", number + 1));
        }

        if indent == 0 {
            in_call = line.ends_with("! {") && !line.starts_with("macro_rules!");
        }
        let is_trait = kind.is_some_and(|kind| kind.ends_with("trait "));
        let of = if is_trait { Some(named) } else { implemented(line) };
        if let Some(of) = of
            && !is_method
            && !line.ends_with('}')
        {
            block = Some(Block { indent, of: of.to_owned(), is_trait, public: !hidden });
        }
        (hidden, macro_export) = (false, false);
        docs.clear();
    }
    offenders
}

#[test]
fn every_public_item_has_an_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src");
    let exported = exported(&fs::read_to_string(root.join("lib.rs")).unwrap());
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();

    let (mut items, mut offenders) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(&root).unwrap().display().to_string();
        offenders.extend(check(&text, &exported, &mut items).into_iter().map(|found| format!("{place}:{found}")));
    }
    assert!(items > 150, "only {items} items found: this test does not see the sources as they are");
    assert!(
        offenders.is_empty(),
        "{} of {items} public items have no running example:\n{}",
        offenders.len(),
        offenders.join("\n")
    );
}

/// Types that no rule is about: records of what happened, names, and values with a meaning and no owner.
const WITHOUT_RULES: [&str; 11] = [
    "AnyStream",
    "Device",
    "Dim",
    "F8E4M3",
    "F8E5M2",
    "Failure",
    "Memory",
    "MemoryInfo",
    "Operation",
    "Requirement",
    "Setting",
];

/// Exported types and traits, and those whose own page shows a program that does not compile.
fn rules(text: &str, exported: &BTreeSet<String>, types: &mut BTreeSet<String>, shown: &mut BTreeSet<String>) {
    let (mut docs, mut in_attribute, mut in_call) = (Vec::new(), false, false);
    for line in text.lines() {
        let outermost = !line.starts_with(' ');
        let line = line.trim();
        if in_attribute {
            in_attribute = line != ")]";
        } else if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim_start());
        } else if line.starts_with("#[") {
            in_attribute = !line.contains(']');
        } else {
            let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub unsafe trait "];
            let kind = kinds.iter().find(|kind| line.starts_with(**kind));
            let named = kind.map(|kind| name(&line[kind.len()..]));
            // In a call of a macro, what has documentation and is exported is a type.
            let named = named.or((in_call && !docs.is_empty()).then(|| name(line)));
            if let Some(named) = named.filter(|named| exported.contains(*named)) {
                types.insert(named.to_owned());
                if fences(&docs).iter().any(|fence| fence.starts_with("compile_fail,E0")) {
                    shown.insert(named.to_owned());
                }
            }
            if outermost {
                in_call = line.ends_with("! {") && !line.starts_with("macro_rules!");
            }
            docs.clear();
        }
    }
}

#[test]
fn every_type_shows_its_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src");
    let exported = exported(&fs::read_to_string(root.join("lib.rs")).unwrap());
    let (mut files, mut types, mut shown) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    sources(&root, &mut files);
    for file in files {
        rules(&fs::read_to_string(&file).unwrap(), &exported, &mut types, &mut shown);
    }
    assert!(types.len() > 60, "only {} types found: this test does not see the sources as they are", types.len());
    let without: Vec<_> = types.difference(&shown).map(String::as_str).collect();
    assert_eq!(without, WITHOUT_RULES, "types without a `compile_fail` example on their page");
}

#[test]
fn offenders_are_found() {
    let source = "\
/// Documented.
///
/// ```
/// ```
pub struct Shown;

impl<T: Into<u8>> Shown<T> {
    /// Documented.
    pub fn missing(self) {}

    /// ```compile_fail
    /// ```
    #[must_use]
    pub fn fails_only(self) {}

    #[doc(hidden)]
    pub fn hidden(self) {}

    pub(crate) fn private(self) {}
}

/// Not exported.
pub struct Other;

#[diagnostic::on_unimplemented(
    message = \"pub fn no\"
)]
pub trait Seen {
    /// Documented.
    fn method(&self);
}

#[doc(hidden)]
impl Shown {
    pub fn never(self) {}
}

make! {
    /// Documented.
    Shown
}
";
    let exported = ["Shown", "Seen"].map(str::to_owned).into();
    let mut items = 0;
    let found = check(source, &exported, &mut items);
    let lines: Vec<&str> = found.iter().filter_map(|found| found.split(':').next()).collect();
    assert_eq!((items, lines), (6, vec!["9", "14", "14", "28", "30", "40"]), "{found:?}");
}
