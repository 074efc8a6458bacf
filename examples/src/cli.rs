//! What the programs have in common at the terminal.

use std::fmt::Display;
use std::process::ExitCode;

use clap::Parser;

/// An error with what the program that ends with it returns to the shell: 2 if other arguments help, else 1.
pub trait Exit: Display {
    /// The number for the shell.
    fn exit_code(&self) -> u8;
}

impl Exit for escrow::Error {
    fn exit_code(&self) -> u8 {
        1
    }
}

/// Runs a program with its arguments. What is wrong is said in one line that starts with the program's name.
pub fn main<A: Parser, E: Exit>(program: impl FnOnce(&A) -> Result<(), E>) -> ExitCode {
    let name = A::command().get_name().to_owned();
    let fail = |message: &str, code: u8| {
        eprintln!("{name}: {message}");
        ExitCode::from(code)
    };
    let arguments = match A::try_parse() {
        Ok(arguments) => arguments,
        // Help and version are no errors, and have many lines.
        Err(asked) if !asked.use_stderr() => asked.exit(),
        Err(error) => return fail(&usage(&name, &error.to_string()), 2),
    };
    match program(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string(), error.exit_code()),
    }
}

/// The first paragraph of a message of clap's in one line.
fn usage(name: &str, message: &str) -> String {
    let paragraph: Vec<&str> = message.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    format!("arguments: {}; try `{name} --help`", paragraph.join(" ").trim_start_matches("error: "))
}
