//! The tables of rules: read from `rules/`, checked, and written as `docs/rules.md` and `docs/rule-sources.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use crate::{Program, codes_of, read};

/// What Mojo, cudarc and cuda-core do.
type Peers = [String; 3];

/// Where a rule comes from: a line of `rules/sources.txt`.
#[derive(Debug)]
struct Source {
    id: String,
    says: String,
    /// What became of the trial, where there was one.
    peers: Option<Peers>,
}

/// A line of `rules/rows.txt`: a rule, and the program or the tests that show it.
#[derive(Debug)]
struct Row {
    section: String,
    /// The program's name; none for what only a run can tell.
    program: Option<String>,
    rule: String,
    tests: Vec<String>,
    ids: Vec<String>,
    peers: Option<Peers>,
}

/// What programs without a row, or without columns of their own, have.
#[derive(Debug)]
struct Default {
    prefix: String,
    peers: Peers,
    section: String,
}

/// All of it.
#[derive(Debug)]
pub struct Table {
    /// With the headings, which are lines of their own.
    sources: Vec<Result<Source, String>>,
    rows: Vec<Row>,
    defaults: Vec<Default>,
    programs: BTreeMap<String, Program>,
}

fn cells(line: &str) -> Vec<String> {
    line.split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

fn three(cells: &[String], line: &str) -> Option<Peers> {
    match cells {
        [] => None,
        [mojo, cudarc, core] => Some([mojo.clone(), cudarc.clone(), core.clone()]),
        _ => panic!("three columns or none: {line}"),
    }
}

fn lines(file: &str) -> Vec<String> {
    let of_rules = |line: &&str| !line.is_empty() && (line.starts_with("## ") || !line.starts_with('#'));
    read(file).lines().filter(of_rules).map(str::to_owned).collect()
}

impl Table {
    /// Reads `rules/`.
    pub fn new(programs: Vec<Program>) -> Table {
        let list = lines("rules/sources.txt");
        let sources = list.iter().map(|line| {
            if let Some(heading) = line.strip_prefix("## ") {
                return Err(heading.to_owned());
            }
            let cells = cells(line);
            Ok(Source { id: cells[0].clone(), says: cells[1].clone(), peers: three(&cells[2..], line) })
        });
        let sources = sources.collect();
        let programs: BTreeMap<_, _> = programs.into_iter().map(|it| (it.name.clone(), it)).collect();
        let (mut rows, mut defaults, mut section) = (Vec::new(), Vec::new(), String::new());
        for line in lines("rules/rows.txt") {
            let cells = cells(&line);
            if let Some(heading) = line.strip_prefix("## ") {
                heading.clone_into(&mut section);
            } else if let Some(prefix) = cells[0].strip_prefix("default ") {
                let peers = three(&cells[1..4], &line).expect("three are there");
                defaults.push(Default { prefix: prefix.to_owned(), peers, section: cells[4].clone() });
            } else {
                let (rule, tests) = cells[0].split_once(" = ").unwrap_or((cells[0].as_str(), ""));
                rows.push(Row {
                    section: section.clone(),
                    program: tests.is_empty().then(|| rule.to_owned()),
                    rule: programs.get(rule).map_or(rule, |it| it.rule.trim_end_matches('.')).to_owned(),
                    tests: tests.split_whitespace().map(str::to_owned).collect(),
                    ids: cells[1].split_whitespace().map(str::to_owned).collect(),
                    peers: three(&cells[2..], &line),
                });
            }
        }
        let mut table = Table { sources, rows, defaults, programs };
        table.add_programs_without_row();
        table
    }

    fn add_programs_without_row(&mut self) {
        let known: BTreeSet<_> = self.rows.iter().filter_map(|row| row.program.as_deref()).collect();
        let new: Vec<_> = self.programs.values().filter(|it| !known.contains(it.name.as_str())).collect();
        let new: Vec<_> = new
            .into_iter()
            .map(|it| Row {
                section: self.default_of(&it.name).section.clone(),
                program: Some(it.name.clone()),
                rule: it.rule.trim_end_matches('.').to_owned(),
                tests: Vec::new(),
                ids: Vec::new(),
                peers: None,
            })
            .collect();
        self.rows.extend(new);
    }

    fn default_of(&self, name: &str) -> &Default {
        let found = self.defaults.iter().find(|it| name.starts_with(&it.prefix));
        found.unwrap_or_else(|| panic!("no `default` in rules/rows.txt is for `{name}`"))
    }

    /// What is wrong with the table, line by line.
    pub fn faults(&self) -> String {
        let mut faults = String::new();
        let known: BTreeSet<_> = self.sources.iter().flatten().map(|it| it.id.as_str()).collect();
        let mut used = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for row in &self.rows {
            if let Some(name) = &row.program {
                if !self.programs.contains_key(name) {
                    let _ = writeln!(faults, "{name}: there is no such program");
                }
                if !seen.insert(name.as_str()) {
                    let _ = writeln!(faults, "{name}: two rows");
                }
            }
            for id in &row.ids {
                used.insert(id.as_str());
                if !known.contains(id.as_str()) {
                    let _ = writeln!(faults, "{}: there is no source `{id}`", row.rule);
                }
            }
            for test in &row.tests {
                let (file, name) = test.split_once("::").unwrap_or((test, ""));
                let path = Path::new("../tests/tests").join(file);
                if !path.exists() || !read(path).contains(&format!("fn {name}(")) {
                    let _ = writeln!(faults, "{test}: there is no such test");
                }
            }
        }
        for id in known.difference(&used) {
            let _ = writeln!(faults, "{id}: no rule is there for it");
        }
        faults
    }

    fn peers(&self, row: &Row) -> Peers {
        let trials = self.sources.iter().flatten().filter(|it| row.ids.contains(&it.id));
        let trials: Vec<_> = trials.filter_map(|it| it.peers.as_ref()).collect();
        if row.peers.is_none() && !trials.is_empty() {
            return [0, 1, 2].map(|column| {
                let mut all: Vec<&str> = Vec::new();
                for trial in &trials {
                    if !all.contains(&trial[column].as_str()) {
                        all.push(&trial[column]);
                    }
                }
                all.join(", ")
            });
        }
        let of_default = row.program.as_ref().map(|name| &self.default_of(name).peers);
        let Some(peers) = row.peers.as_ref().or(of_default) else { return ["-"; 3].map(str::to_owned) };
        // Nobody tried this very program.
        peers.clone().map(|said| if said == "-" || said == "?" { said } else { format!("({said})") })
    }

    fn how_and_code(&self, row: &Row) -> (&'static str, String) {
        let Some(program) = row.program.as_ref().and_then(|name| self.programs.get(name)) else {
            return ("run", "-".to_owned());
        };
        let codes: Vec<_> = codes_of(&program.stderr).into_iter().collect();
        (how(&codes, &program.stderr), codes.join(" "))
    }

    /// The sections of `docs/rules.md`.
    pub fn rules(&self) -> String {
        let mut sections: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !sections.contains(&row.section.as_str()) {
                sections.push(&row.section);
            }
        }
        let mut text = String::new();
        for section in sections {
            let _ = writeln!(text, "\n### {section}");
            text += "| rule | from | shown by | how | code | Mojo | cudarc | cuda-core |\n|---|---|---|---|---|---|---|---|\n";
            for row in self.rows.iter().filter(|row| row.section == section) {
                let (how, code) = self.how_and_code(row);
                let shown = match &row.program {
                    Some(name) => format!("[`{name}`](../ui-tests/fail/{name}.rs)"),
                    None => row.tests.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", "),
                };
                let from = if row.ids.is_empty() { "-".to_owned() } else { row.ids.join(" ") };
                let peers = self.peers(row).join(" | ");
                let _ = writeln!(text, "| {} | {from} | {shown} | {how} | {code} | {peers} |", row.rule);
            }
        }
        text
    }

    /// `docs/rule-sources.md`, without what is above its first heading.
    pub fn sources(&self) -> String {
        let mut text = String::new();
        for source in &self.sources {
            match source {
                Err(heading) => {
                    let _ = writeln!(text, "\n## {heading}\n| | says | shown by |\n|---|---|---|");
                }
                Ok(source) => {
                    let shown = self.rows.iter().filter(|row| row.ids.contains(&source.id)).map(|row| {
                        let tests = row.tests.first().map(|test| test.rsplit("::").next().unwrap_or_default());
                        format!("`{}`", row.program.as_deref().or(tests).unwrap_or_default())
                    });
                    let shown: Vec<_> = shown.collect();
                    let _ = writeln!(text, "| {} | {} | {} |", source.id, source.says, shown.join(", "));
                }
            }
        }
        text
    }
}

/// What refuses a program that ends in these errors.
fn how(codes: &[String], stderr: &str) -> &'static str {
    let any = |list: &[&str]| codes.iter().any(|code| list.contains(&code.as_str()));
    if any(&["E0382", "E0507"]) {
        "move"
    } else if any(&["E0499", "E0502", "E0505", "E0506", "E0515", "E0521", "E0594", "E0596", "E0597", "E0621", "E0716"])
    {
        "borrow"
    } else if any(&["E0133", "E0200"]) {
        "`unsafe`"
    } else if any(&["E0117", "E0119", "E0210", "E0046", "E0277"]) {
        "trait"
    } else if any(&["E0080"]) {
        "constant"
    } else if any(&["E0423", "E0451", "E0616", "E0624"]) {
        "private"
    } else if any(&["E0061", "E0283", "E0308", "E0599", "E0600", "E0608"]) {
        "type"
    } else if stderr.contains("lifetime may not live long enough") {
        "borrow"
    } else if stderr.contains("lint level") || stderr.contains("on by default") {
        "lint"
    } else if stderr.contains("negative integers cannot be used") {
        "type"
    } else {
        "macro"
    }
}
