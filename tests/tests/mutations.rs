//! The list of mutations fits the sources and the table in `docs/rules.md`. Making them is for
//! `cargo run -p escrow-tests --bin mutations`.

use std::fs;
use std::path::Path;

use escrow_tests::mutations::{Try, list};

#[test]
fn each_mutation_has_its_place_and_its_test() {
    let rules = fs::read_to_string("../docs/rules.md").unwrap();
    let list = list();
    assert!(list.len() >= 50, "{}", list.len());
    for mutation in &list {
        let name = &mutation.name;
        assert!(!mutation.edits.is_empty() && !mutation.tries.is_empty(), "{name}");
        for edit in &mutation.edits {
            let text = fs::read_to_string(Path::new("..").join(&edit.file)).unwrap();
            assert_eq!(edit.places(&text), 1, "{name}: what is replaced in {} has changed", edit.file);
        }
        for it in &mutation.tries {
            let there = match it {
                Try::Program(name) => Path::new("../ui-tests/fail").join(format!("{name}.rs")).exists(),
                Try::Facts => true,
                Try::Run { file, .. } => Path::new("tests").join(format!("{file}.rs")).exists(),
            };
            assert!(there, "{name}: {it:?} is not there");
        }
        let row = rules.lines().find(|line| line.starts_with(&format!("| {name} |")));
        assert!(row.is_some_and(|row| !row.contains("**nothing**")), "{name}: no row in docs/rules.md");
    }
}
