//! Compiles and runs the programs in `pass`, checks what the compiler says to those in `fail`, and that they are in
//! order.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that no user has to know, and no message may speak of.
const INTERNAL: &[&str] = &[
    "Admitted",
    "ArgCheck",
    "Candidate",
    "Counted",
    "CpuBody",
    "Escrowed",
    "FieldLayout",
    "Geometry",
    "PrintStruct",
    "Region",
    "Sealed",
    "SpanLen",
    "Text<",
    "Visit",
    "Window",
    "__",
    "candidate",
];

/// The longest first message, in lines, without the quotations of this library's source that end many.
const MOST_LINES: usize = 20;

/// A program in `fail`.
struct Program {
    name: String,
    rule: String,
    source: String,
    codes: BTreeSet<String>,
    right: String,
    stderr: String,
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a folder can be read to its end").path())
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    files.sort();
    files
}

fn programs() -> Vec<Program> {
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
    Program { rule, codes, right, stderr: read(path.with_extension("stderr")), name, source }
}

/// The codes of the errors in a message, `-` for one without a code.
fn codes_of(stderr: &str) -> BTreeSet<String> {
    let code = |line: &str| {
        let rest = line.strip_prefix("error")?;
        Some(match rest.strip_prefix('[') {
            Some(code) => code.split(']').next().unwrap_or_default().to_owned(),
            None => "-".to_owned(),
        })
    };
    stderr.lines().filter_map(code).collect()
}

/// The first error, without what it quotes of this library.
fn first_error(stderr: &str) -> Vec<&str> {
    let start = stderr.lines().skip_while(|line| !line.starts_with("error"));
    let mut quoted = false;
    start
        .enumerate()
        .take_while(|(at, line)| *at == 0 || !(line.starts_with("error") || line.starts_with("warning")))
        .map(|(_, line)| line)
        .filter(|line| {
            if line.trim_start().starts_with("--> ") || line.trim_start().starts_with("::: ") {
                quoted = !line.contains("> fail/");
            } else if line.starts_with("note: ") || line.starts_with("help: ") || line.trim_start().starts_with("= ") {
                quoted = line.starts_with("note: required by");
            }
            !quoted && !line.trim().is_empty()
        })
        .collect()
}

#[test]
fn programs_do_what_they_should() {
    let tests = trybuild::TestCases::new();
    tests.pass("pass/*.rs");
    tests.compile_fail("fail/*.rs");
}

#[test]
fn every_program_ends_in_the_errors_it_says() {
    let mut faults = String::new();
    for program in programs() {
        let Program { name, codes, stderr, source, .. } = &program;
        let found = codes_of(stderr);
        if found != *codes {
            let _ = writeln!(faults, "{name}: says {codes:?}, ends in {found:?}");
        }
        // Each attempt by itself: one that compiled would hide behind the others.
        for (at, line) in source.lines().enumerate() {
            let Some((code, said)) = line.split_once(" //~ ") else { continue };
            let place = format!("--> fail/{name}.rs:{}:", at + 1);
            let refused = stderr
                .split("\n\n")
                .any(|error| error.starts_with(&format!("error[{}]", said.trim())) && error.contains(&place));
            if !refused {
                let _ = writeln!(faults, "{name}: nothing refuses line {}, `{}`", at + 1, code.trim());
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn every_program_has_its_right_way() {
    for program in programs() {
        let right = Path::new(&program.right);
        assert!(right.starts_with("pass") && right.exists(), "{}: there is no {}", program.name, program.right);
    }
    let used: BTreeSet<_> = programs().into_iter().map(|program| PathBuf::from(program.right)).collect();
    for path in files("pass", "rs") {
        assert!(used.contains(&path), "{}: no program in `fail` names it", path.display());
    }
    for path in files("fail", "stderr") {
        assert!(path.with_extension("rs").exists(), "{}: its program is gone", path.display());
    }
}

#[test]
fn messages_speak_of_nothing_internal() {
    let mut faults = String::new();
    for program in programs() {
        for line in program.stderr.lines() {
            // Quotations of source, the user's or this library's.
            let text = line.trim_start();
            if text.starts_with("--> ")
                || text.starts_with(|first: char| first.is_ascii_digit() || first == '|')
                || text.starts_with("...")
            {
                continue;
            }
            // Who implements a closed trait is told by rustc which trait keeps it closed.
            let forging = program.name.starts_with("forge_");
            for name in INTERNAL.iter().filter(|name| line.contains(*name) && !(forging && **name == "Sealed")) {
                let _ = writeln!(faults, "{}: `{name}` in `{text}`", program.name);
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn first_messages_are_short_and_point_at_the_program() {
    let mut faults = String::new();
    for program in programs() {
        let lines = first_error(&program.stderr);
        if lines.len() > MOST_LINES {
            let _ = writeln!(faults, "{}: {} lines", program.name, lines.len());
        }
        let place = format!("--> fail/{}.rs:", program.name);
        if !lines.iter().any(|line| line.contains(&place)) {
            let _ = writeln!(faults, "{}: points elsewhere, {:?}", program.name, lines);
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn list_of_rules_is_up_to_date() {
    let mut list = "file | rule | code | right\n".to_owned();
    let programs = programs();
    for Program { name, rule, codes, right, .. } in &programs {
        let codes: Vec<_> = codes.iter().map(String::as_str).collect();
        let _ = writeln!(list, "fail/{name}.rs | {rule} | {} | {right}", codes.join(" "));
    }
    if std::env::var_os("TRYBUILD").is_some_and(|it| it == "overwrite") {
        fs::write("rules.txt", &list).expect("the list can be written");
    }
    assert!(programs.len() >= 70, "{} rules", programs.len());
    assert_eq!(read("rules.txt"), list, "run `TRYBUILD=overwrite cargo test -p escrow-ui-tests`");
}
