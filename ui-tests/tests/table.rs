//! `docs/rules.md` and `docs/rule-sources.md` say what `rules/` and the programs say.

use std::fs;

use escrow_ui_tests::table::Table;
use escrow_ui_tests::{programs, read};

/// Where the generated part of `docs/rules.md` begins and ends.
const MARKS: [&str; 2] = ["<!-- generated from ui-tests -->\n", "<!-- end of what is generated -->\n"];

/// Writes the file if that is asked for, and compares.
fn compare(file: &str, expected: &str) {
    if std::env::var_os("TRYBUILD").is_some_and(|it| it == "overwrite") {
        fs::write(file, expected).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    assert!(read(file) == expected, "{file} is old: run `TRYBUILD=overwrite cargo test -p escrow-ui-tests`");
}

#[test]
fn every_source_has_a_rule_and_every_rule_a_program() {
    let faults = Table::new(programs()).faults();
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn tables_are_up_to_date() {
    let table = Table::new(programs());
    let rules = read("../docs/rules.md");
    let (before, rest) = rules.split_once(MARKS[0]).expect("the generated part begins");
    let (_, after) = rest.split_once(MARKS[1]).expect("the generated part ends");
    compare("../docs/rules.md", &[before, MARKS[0], &table.rules(), "\n", MARKS[1], after].concat());

    let head = read("../docs/rule-sources.md");
    let head = head.split("\n\n## ").next().unwrap_or_default();
    compare("../docs/rule-sources.md", &format!("{head}\n{}", table.sources()));
}
