//! Takes away what carries the rules, one mechanism at a time, on a copy of the sources, and tells which test notices.
//!
//! `cargo run -p escrow-tests --bin mutations` prints the table of `docs/rules.md`; with words behind `--`, only the
//! mutations whose names contain one of them. The list is `tests/mutations/list.txt`; `tests/tests/mutations.rs` sees to
//! it that the list fits the sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::{env, fs};

use escrow_tests::mutations::{Edit, Mutation, Try, libraries, list};

/// The copy, and where it is built.
struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

/// The libraries that programs are compiled with.
struct Libraries {
    escrow: String,
    bytemuck: String,
}

impl Copy {
    fn new(root: &Path) -> Copy {
        let folder = root.join("target/mutations");
        let copy = Copy { tree: folder.join("tree"), target: folder.join("build") };
        let files = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .expect("git runs");
        for file in String::from_utf8_lossy(&files.stdout).split('\0').filter(|file| !file.is_empty()) {
            let (from, to) = (root.join(file), copy.tree.join(file));
            let Ok(text) = fs::read(&from) else { continue }; // deleted, and git does not know it yet
            if fs::read(&to).is_ok_and(|old| old == text) {
                continue; // leaves its date, and so what was built of it
            }
            fs::create_dir_all(to.parent().expect("it is in the tree")).expect("a folder can be made");
            fs::write(&to, text).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        }
        copy
    }

    fn cargo(&self, args: &[&str]) -> Output {
        Command::new("cargo")
            .args(args)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUSTFLAGS", "-Awarnings")
            .output()
            .expect("cargo runs")
    }

    /// Builds the crate; nothing if it does not compile.
    fn build(&self) -> Option<Libraries> {
        let [escrow, bytemuck] = libraries(&self.tree, &self.target)?;
        Some(Libraries { escrow, bytemuck })
    }

    /// Lines and codes of the errors that a program ends in.
    fn errors(&self, libraries: &Libraries, program: &str) -> BTreeSet<(String, String)> {
        let folder = self.tree.join("ui-tests");
        let compiled = Command::new("rustc")
            .args(["--edition=2024", "--emit=link", "--error-format=short", "-o"])
            .arg(self.target.join("program"))
            .arg(format!("-Ldependency={}/debug/deps", self.target.display()))
            .arg(format!("--extern=escrow={}", libraries.escrow))
            .arg(format!("--extern=bytemuck={}", libraries.bytemuck))
            .arg(format!("fail/{program}.rs"))
            .current_dir(&folder)
            .env("CARGO_MANIFEST_DIR", &folder)
            .output()
            .expect("rustc runs");
        let text = String::from_utf8_lossy(&compiled.stderr).into_owned();
        let error = |line: &str| {
            // Those of constants may have no place.
            let (place, rest) = line.split_once(": error").or_else(|| Some(("", line.strip_prefix("error[")?)))?;
            let code = rest.trim_start_matches('[').split(']').next().filter(|it| it.len() == 5).unwrap_or("-");
            let line = if place.starts_with("fail/") { place.split(':').nth(1).unwrap_or_default() } else { "" };
            Some((line.to_owned(), code.to_owned()))
        };
        text.lines().filter_map(error).collect()
    }
}

/// Who notices the mutation that the copy has.
fn noticed(copy: &Copy, sound: &Libraries, mutation: &Mutation) -> Vec<String> {
    let mut found = Vec::new();
    let mut mutant = None;
    for it in &mutation.tries {
        match it {
            Try::Program(name) => {
                if mutant.is_none() {
                    mutant = Some(copy.build());
                }
                let Some(Some(libraries)) = &mutant else { return vec!["the crate does not compile".to_owned()] };
                let (before, after) = (copy.errors(sound, name), copy.errors(libraries, name));
                assert!(!before.is_empty(), "{name} compiles without any mutation");
                if after.is_empty() {
                    found.push(format!("`{name}` compiles"));
                } else if after != before {
                    found.push(format!("`{name}` ends in other errors"));
                }
            }
            Try::Facts => {
                let built = copy.cargo(&["test", "-p", "escrow-tests", "--locked", "--test", "facts", "--no-run"]);
                if !built.status.success() {
                    found.push("`facts` does not compile".to_owned());
                }
            }
            Try::Run { file, test } => {
                let args = ["test", "-p", "escrow-tests", "--locked", "--test", file, "--", test];
                // What happens too early may happen to be right.
                let runs = (0..5).map(|_| copy.cargo(&args)).find(|ran| !ran.status.success());
                if let Some(ran) = runs {
                    let said = String::from_utf8_lossy(&ran.stdout);
                    let how = if said.contains("running ") { "fails" } else { "does not compile" };
                    found.push(format!("`{test}` {how}"));
                }
            }
        }
    }
    found
}

fn apply(copy: &Copy, edits: &[Edit]) -> Vec<(PathBuf, String)> {
    let mut originals = Vec::new();
    for edit in edits {
        let path = copy.tree.join(&edit.file);
        let text = fs::read_to_string(&path).expect("the file was copied");
        fs::write(&path, edit.apply(&text)).expect("it can be written");
        originals.push((path, text));
    }
    originals
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace");
    let words: Vec<_> = env::args().skip(1).collect();
    let wanted = |it: &Mutation| words.is_empty() || words.iter().any(|word| it.name.contains(word.as_str()));
    let copy = Copy::new(root);
    let built = copy.build().expect("the crate compiles without any mutation");
    // Kept apart from those of mutations, which are built over it.
    let sound = Libraries { escrow: copy.target.join("libescrow_sound.rlib").display().to_string(), ..built };
    fs::copy(&built.escrow, &sound.escrow).expect("the library can be copied");

    println!("| what is taken away | in | what happens |\n|---|---|---|");
    let mut unnoticed = 0;
    for mutation in list().iter().filter(|it| wanted(it)) {
        let originals = apply(&copy, &mutation.edits);
        let found = noticed(&copy, &sound, mutation);
        for (path, text) in originals.into_iter().rev() {
            fs::write(path, text).expect("it can be written");
        }
        unnoticed += usize::from(found.is_empty());
        let found = if found.is_empty() { "**nothing**".to_owned() } else { found.join(", ") };
        let file = mutation.edits.first().map(|edit| edit.file.as_str()).unwrap_or_default();
        println!("| {} | `{file}` | {found} |", mutation.name);
    }
    if unnoticed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
