//! Compiles and runs the programs in `pass`, checks what the compiler says to those in `fail`, and that they are in
//! order.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use escrow_ui_tests::{Program, codes_of, files, programs, read};

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
    "Visit",
    "Window",
    "__private",
    "candidate",
];

/// Who tries to implement a closed trait is told what closes it, and its hidden parts.
const INTERNAL_OF_CLOSED: &[&str] = &["Candidate", "Sealed", "Visit", "__private", "candidate"];

/// Traits that nobody can name, whose names are there to be read: in what is said of threads, and of what never holds.
const MARKERS: &[&str] = &["StaysOnTheThreadItWasGivenTo", "StaysOnTheThreadOfItsPe", "OfItsOwn", "OtherKind"];

/// The longest first message, in lines with text, without the bounds of this library that end many.
const MOST_LINES: usize = 12;

/// Longer ones: the words are rustc's own, about closures and types of functions.
const LONG: &[&str] = &[
    "body_share_to_thread",
    "body_slice",
    "body_static_span",
    "derive_generic_bad_argument",
    "scope_local",
    "thread_lent_escapes",
    "thread_two_writers",
];

/// What the first error says, and where in the program. Left out is what notes quote of other places, bounds above all.
fn first_error(stderr: &str) -> Vec<&str> {
    let mut lines = stderr.lines().skip_while(|line| !line.starts_with("error"));
    let mut first: Vec<_> = lines.next().into_iter().collect();
    let mut quoted = false;
    for line in lines.take_while(|line| !line.starts_with("error") && !line.starts_with("warning")) {
        let elsewhere = line.starts_with("note: ") || line.starts_with("help: ");
        if elsewhere || line.trim_start().starts_with("= ") {
            quoted = line.contains("required by") || line.contains("this error originates in");
        }
        // The bars around a quotation are no text either.
        if !quoted && !line.trim().trim_start_matches('|').is_empty() {
            first.push(line);
        }
        quoted |= elsewhere;
    }
    first
}

/// Copies the PTX files to where `trybuild` compiles: their paths start at the folder of the `Cargo.toml` there.
fn lay_out_ptx() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target folder");
    let folder = target.join("tests/trybuild").join(env!("CARGO_PKG_NAME")).join("ptx");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for file in files("ptx", "ptx") {
        fs::write(folder.join(file.file_name().expect("it is a file")), read(&file)).expect("it can be written");
    }
}

#[test]
fn programs_do_what_they_should() {
    lay_out_ptx();
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

/// Names of the traits in the library's sources that are not in a module of their own, as those that close others are.
fn traits(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the library's sources are there") {
        let path = entry.expect("a folder can be read to its end").path();
        if path.is_dir() {
            traits(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let name = |line: &str| {
                let rest = line.strip_prefix("pub trait ").or_else(|| line.strip_prefix("pub unsafe trait "))?;
                rest.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned)
            };
            found.extend(read(&path).lines().filter_map(name));
        }
    }
}

#[test]
fn every_public_trait_is_forged() {
    let mut found = BTreeSet::new();
    traits(Path::new("../runtime/src"), &mut found);
    // What the library exports, as its root says.
    let exported = read("../runtime/src/lib.rs");
    let exported: BTreeSet<_> = exported.split(|c: char| !c.is_alphanumeric()).collect();
    found.retain(|name| exported.contains(name.as_str()));
    assert!(found.len() >= 18, "only {found:?}");
    let forgers: Vec<_> = programs().into_iter().filter(|it| it.name.starts_with("forge_")).collect();
    for name in found {
        let tried = [format!(" {name} for "), format!(" {name}<")];
        let forged = forgers.iter().any(|it| {
            it.source
                .lines()
                .any(|line| line.contains("impl") && tried.iter().any(|tried| line.contains(tried.as_str())))
        });
        assert!(forged, "no program tries to forge `{name}`");
    }
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
            let gutter = text.starts_with(|first: char| first.is_ascii_digit() || first == '|');
            // A macro's own calls have bounds too, and rustc says where they stand.
            if gutter || ["--> ", "...", "note: required by a bound"].iter().any(|start| text.starts_with(start)) {
                continue;
            }
            // A path through a module that nobody can name.
            let hidden = line.match_indices("escrow::").any(|(at, found)| {
                let rest = &line[at + found.len()..];
                let modules =
                    rest.split(|c: char| !c.is_ascii_lowercase() && c != '_' && c != ':').next().unwrap_or_default();
                // rustc names methods by where they are written.
                let is_method = rest[modules.len()..].starts_with("<impl");
                modules.contains("::") && !modules.starts_with("shmem::") && !is_method
            });
            if hidden && !program.name.starts_with("forge_") && !MARKERS.iter().any(|name| line.contains(name)) {
                let _ = writeln!(faults, "{}: a private path in `{text}`", program.name);
            }
            let allowed = if program.name.starts_with("forge_") { INTERNAL_OF_CLOSED } else { &[] };
            for name in INTERNAL.iter().filter(|name| line.contains(*name) && !allowed.contains(name)) {
                let _ = writeln!(faults, "{}: `{name}` in `{text}`", program.name);
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn first_messages_are_short_and_point_at_the_program() {
    let mut faults = String::new();
    for Program { name, codes, stderr, .. } in programs() {
        let lines = first_error(&stderr);
        // A forger is told about a trait of ours, which has many implementations.
        let may_be_long = name.starts_with("forge_") || LONG.contains(&name.as_str());
        if lines.len() > MOST_LINES && !may_be_long {
            let _ = writeln!(faults, "{name}: {} lines", lines.len());
        }
        let place = format!("--> fail/{name}.rs:");
        // A constant that fails for one type points at itself first, and in a note at the call.
        let is_constant = codes.contains("E0080");
        let lines = if is_constant { stderr.lines().collect() } else { lines };
        if !lines.iter().any(|line| line.contains(&place)) {
            let _ = writeln!(faults, "{name}: points elsewhere");
        }
    }
    assert!(faults.is_empty(), "{faults}");
}
