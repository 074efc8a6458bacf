//! Sends the words of a text to experts on all PEs of a SHMEM job, and back.
//!
//! ```text
//! cargo run --release -p escrow-examples --bin dispatch -- LICENSE-APACHE --pes 4
//! ```

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fmt, fs};

use clap::Parser;
use escrow::{Error, ShmemContext, shmem};
use escrow_examples::cli::{self, Exit};
use escrow_examples::dispatch::{Plan, Report, Token, hash_words, run};

/// Routes tokens to experts over the PEs of a job, and checks what comes back.
///
/// Each word of a text is a token with a vector, and goes to two experts, whose products come back and are added up. The
/// experts and the tokens are shared out over the PEs. The result is compared, bit by bit, with what one PE computes alone.
#[derive(Parser, Debug)]
#[command(name = "dispatch", version)]
struct Arguments {
    /// The text.
    text: PathBuf,
    /// PEs to run on; under a launcher, the number of its processes.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pes: u16,
    /// Experts of all PEs.
    #[arg(long, default_value = "8", value_parser = clap::value_parser!(u16).range(2..=4096))]
    experts: u16,
    /// Elements of a token's vector.
    #[arg(long, default_value = "64", value_parser = clap::value_parser!(u16).range(1..=4096))]
    dim: u16,
    /// How often all tokens go there and back.
    #[arg(long, default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Why tokens were not routed, or not well. Prints as `what: why and what to do`.
#[derive(Debug)]
enum DispatchError {
    Read(PathBuf, io::Error),
    Empty(PathBuf),
    Job(Error),
    Wrong(u64),
}

impl fmt::Display for DispatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &Path| path.display().to_string().replace(char::is_control, "?");
        match self {
            DispatchError::Read(path, why) => {
                write!(f, "{}: cannot be read ({why}); give the path of a text in UTF-8", name(path))
            }
            DispatchError::Empty(path) => write!(f, "{}: has no words; give a text that has some", name(path)),
            DispatchError::Job(why) => write!(f, "job: {why}"),
            DispatchError::Wrong(wrong) => {
                write!(f, "results: {wrong} elements differ from what one PE computes alone; please report this")
            }
        }
    }
}

impl Exit for DispatchError {
    fn exit_code(&self) -> u8 {
        match self {
            DispatchError::Read(..) | DispatchError::Empty(_) => 2,
            DispatchError::Job(_) | DispatchError::Wrong(_) => 1,
        }
    }
}

fn main() -> ExitCode {
    cli::main(dispatch)
}

fn dispatch(arguments: &Arguments) -> Result<(), DispatchError> {
    // The results of the PEs in this process, which under a launcher is one.
    let ends = shmem::launch(arguments.pes.into(), |job| dispatch_on_pe(job, arguments));
    ends.map_err(DispatchError::Job)?.into_iter().collect()
}

fn read(path: &Path) -> Result<Vec<Token>, DispatchError> {
    let text = fs::read_to_string(path).map_err(|why| DispatchError::Read(path.to_owned(), why))?;
    let tokens = hash_words(&text);
    if tokens.is_empty() { Err(DispatchError::Empty(path.to_owned())) } else { Ok(tokens) }
}

/// What one PE does. PE 0 reads the text and prints; if it cannot, the others are told, and end well.
fn dispatch_on_pe(job: &ShmemContext, arguments: &Arguments) -> Result<Result<(), DispatchError>, Error> {
    let plan = Plan { experts: arguments.experts.into(), dim: arguments.dim.into(), rounds: arguments.rounds as usize };
    if job.my_pe() != 0 {
        run(job, None, &plan)?;
        return Ok(Ok(()));
    }
    let tokens = read(&arguments.text);
    let report = run(job, tokens.as_deref().ok(), &plan)?;
    Ok(tokens.and_then(|_| report.map_or(Ok(()), |report| print(job, &plan, &report))))
}

fn print(job: &ShmemContext, plan: &Plan, report: &Report) -> Result<(), DispatchError> {
    if report.wrong > 0 {
        return Err(DispatchError::Wrong(report.wrong));
    }
    let seconds = report.time.as_secs_f64();
    let text = format!(
        "job      {} PEs, engine {}, {}\n\
         tokens   {} of {} elements, {} rounds, 2 of {} experts each\n\
         results  equal to those of one PE alone, bit by bit\n\
         time     {:.2} ms: {:.0} tokens/s, {:.2} GB/s put by all PEs\n",
        job.n_pes(),
        job.engine(),
        job.context().device(),
        report.tokens,
        plan.dim,
        plan.rounds,
        plan.experts,
        1e3 * seconds,
        (report.tokens * plan.rounds) as f64 / seconds,
        1e-9 * report.bytes as f64 / seconds,
    );
    // A reader of this text that has gone is no failure.
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(())
}
