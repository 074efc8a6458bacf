//! The list of mutations: what carries a rule, and which test notices when it is taken away.

use std::path::Path;
use std::process::Command;

/// One of them.
#[derive(Debug)]
pub struct Mutation {
    /// What is taken away.
    pub name: String,
    /// How.
    pub edits: Vec<Edit>,
    /// Tests of which one must notice.
    pub tries: Vec<Try>,
}

/// A text that is replaced.
#[derive(Debug)]
pub struct Edit {
    /// The file, from the root of the workspace.
    pub file: String,
    old: Vec<String>,
    new: Vec<String>,
}

/// A test.
#[derive(Debug)]
pub enum Try {
    /// A program of `ui-tests/fail` that must end in other errors.
    Program(String),
    /// `tests/tests/facts.rs`, which must not compile.
    Facts,
    /// A test that must fail.
    Run {
        /// The file, without its end.
        file: String,
        /// Its name.
        test: String,
    },
}

impl Edit {
    /// How often the text to be replaced is there; once, in sources that the list fits.
    #[must_use]
    pub fn places(&self, text: &str) -> usize {
        text.matches(&self.old.join("\n")).count()
    }

    /// The text with the replacement.
    ///
    /// # Panics
    /// If there is not one place for it.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        assert_eq!(self.places(text), 1, "{}: {:?}", self.file, self.old);
        text.replace(&self.old.join("\n"), &self.new.join("\n"))
    }
}

/// `tests/mutations/list.txt`.
///
/// # Panics
/// If it is not as its head says.
#[must_use]
pub fn list() -> Vec<Mutation> {
    let mut list: Vec<Mutation> = Vec::new();
    for line in include_str!("../mutations/list.txt").lines() {
        if let Some(name) = line.strip_prefix("== ") {
            list.push(Mutation { name: name.to_owned(), edits: Vec::new(), tries: Vec::new() });
            continue;
        }
        let Some(mutation) = list.last_mut() else { continue }; // the head
        if let Some(file) = line.strip_prefix("in: ") {
            mutation.edits.push(Edit { file: file.to_owned(), old: Vec::new(), new: Vec::new() });
        } else if let Some(names) = line.strip_prefix("ui: ") {
            mutation.tries.extend(names.split(' ').map(|name| Try::Program(name.to_owned())));
        } else if line == "facts" {
            mutation.tries.push(Try::Facts);
        } else if let Some(test) = line.strip_prefix("run: ") {
            let (file, test) = test.split_once(' ').expect("a file and a test");
            mutation.tries.push(Try::Run { file: file.to_owned(), test: test.to_owned() });
        } else if !line.is_empty() {
            let edit = mutation.edits.last_mut().expect("a file comes first");
            match line.split_at(1) {
                ("-", old) => edit.old.push(old.to_owned()),
                ("+", new) => edit.new.push(new.to_owned()),
                _ => panic!("not understood: {line}"),
            }
        }
    }
    list
}

/// Builds the crate in `tree`, and returns the files of its library and of `bytemuck`'s; nothing if it does not compile.
///
/// # Panics
/// If cargo does not run.
#[must_use]
pub fn libraries(tree: &Path, target: &Path) -> Option<[String; 2]> {
    let built = Command::new("cargo")
        .args(["build", "-p", "escrow", "--locked", "--message-format=json"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", "-Awarnings")
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&built.stdout).into_owned();
    let library = |name: &str| {
        let is_it = |path: &&str| {
            let stem = Path::new(path).file_stem().and_then(|it| it.to_str()).and_then(|it| it.strip_prefix("lib"));
            let is_named = stem.is_some_and(|it| it.split('-').next() == Some(name));
            is_named && Path::new(path).extension().is_some_and(|it| it == "rlib")
        };
        text.split('"').rev().find(is_it).map(str::to_owned).expect("a crate that compiles has a library")
    };
    built.status.success().then(|| ["escrow", "bytemuck"].map(library))
}
