//! Heats a plate, on all PEs of a SHMEM job.
//!
//! ```text
//! cargo run --release -p escrow-examples --bin heat -- examples/data/plate.png --pes 4 --steps 2000 --out heat.png
//! ```

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use escrow::{Error, ShmemContext, shmem};
use escrow_examples::blur::Output;
use escrow_examples::cli;
use escrow_examples::heat::{End, HeatError, Kind, Plan, Plate, rows_of_file, run};
use indicatif::{ProgressBar, ProgressStyle};

/// Heats a plate until its steps are done, or until it hardly changes.
///
/// Takes a PNG picture, whose brightness is the temperature from 0 to 1, or a `.npy` file with two dimensions of float32 or
/// float64. In each step every point becomes the mean of its four neighbours, but for those that are held. The rows are
/// shared out over the PEs; the result has the same bits for any number of them. Under `oshrun` each process is a PE, and
/// the first one reads, writes and prints.
#[derive(Parser, Debug)]
#[command(name = "heat", version)]
struct Arguments {
    /// The PNG or `.npy` file to read.
    input: PathBuf,
    /// The file to write: a picture in colours if it ends in `.png`, an array if it ends in `.npy`.
    #[arg(long)]
    out: PathBuf,
    /// PEs to run on; under a launcher, the number of its processes.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pes: u16,
    /// Steps to make.
    #[arg(long, default_value = "2000", value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Look at the change every so many steps.
    #[arg(long, default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    check: u32,
    /// Stop when the change that is looked at is not above this. Rounding may keep it from ever getting much below 1e-5 of
    /// the temperatures' range.
    #[arg(long, value_parser = tolerance)]
    tolerance: Option<f32>,
    /// Points that keep their temperature. If not given, the extremes of a picture, and the edges of an array.
    #[arg(long)]
    held: Option<HeldArgument>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HeldArgument {
    /// The outermost points.
    Edges,
    /// The outermost points, and the coldest and hottest: black and white of a picture, least and greatest of an array.
    Extremes,
}

fn tolerance(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number of at least 0 is expected".to_owned()),
    }
}

fn main() -> ExitCode {
    cli::main(heat)
}

/// What PE 0 alone has: the input, and the places of the output.
struct Files {
    plate: Plate,
    kind: Kind,
    output: Output,
}

impl Files {
    fn open(arguments: &Arguments) -> Result<Files, HeatError> {
        let extremes = arguments.held.map(|held| matches!(held, HeldArgument::Extremes));
        // All that can be wrong with the arguments comes before the work.
        Kind::of_output(&arguments.out, Kind::Png)?;
        let (plate, input) = Plate::load(&arguments.input, extremes)?;
        enough_rows(arguments, plate.field.rows())?;
        let kind = Kind::of_output(&arguments.out, input)?;
        Ok(Files { plate, kind, output: Output::create(&arguments.out)? })
    }
}

fn enough_rows(arguments: &Arguments, rows: usize) -> Result<(), HeatError> {
    let pes = usize::from(arguments.pes);
    if pes > rows { Err(HeatError::TooManyPes { pes, rows }) } else { Ok(()) }
}

fn heat(arguments: &Arguments) -> Result<(), HeatError> {
    // Threads are not started in vain. On other hosts the file need not be there, so what else is wrong with it, PE 0 says.
    rows_of_file(&arguments.input).map_or(Ok(()), |rows| enough_rows(arguments, rows))?;
    // The results of the PEs in this process, which under a launcher is one.
    let ends = shmem::launch(arguments.pes.into(), |job| heat_on_pe(job, arguments))?;
    ends.into_iter().collect()
}

/// What one PE does. An error of PE 0's files is its result; the other PEs are told, and end well.
fn heat_on_pe(job: &ShmemContext, arguments: &Arguments) -> Result<Result<(), HeatError>, Error> {
    let plan =
        Plan { steps: arguments.steps as usize, check: arguments.check as usize, tolerance: arguments.tolerance };
    if job.my_pe() != 0 {
        run(job, None, &plan, |_, _| {})?;
        return Ok(Ok(()));
    }
    let files = Files::open(arguments);
    let bar = files.as_ref().map_or_else(|_| ProgressBar::hidden(), |_| progress_bar(arguments.steps));
    let end = run(job, files.as_ref().ok().map(|files| &files.plate), &plan, |steps, change| {
        bar.set_position(steps as u64);
        bar.set_message(format!("change {change:.2e}"));
    });
    bar.finish_and_clear();
    let end = end?;
    Ok(files.and_then(|Files { plate, kind, output }| {
        let Some(end) = end else { return Ok(()) };
        end.field.save(output, kind, plate.scale())?;
        report(job, &end);
        Ok(())
    }))
}

/// On the terminal, and nowhere if there is none.
fn progress_bar(steps: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("heat {wide_bar} {pos}/{len} steps  {msg}");
    ProgressBar::new(steps.into()).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn report(job: &ShmemContext, end: &End) {
    let seconds = end.time.as_secs_f64();
    let text = format!(
        "job      {} PEs, engine {}, {}\n\
         plate    {} x {} points\n\
         steps    {}, the last one changed a point by {:.2e} at most\n\
         time     {:.2} ms: {:.0} steps/s, {:.2} GB/s per PE (each point's old and new value, and whether it is held)\n",
        job.n_pes(),
        job.engine(),
        job.context().device(),
        end.field.width(),
        end.field.rows(),
        end.steps,
        end.change,
        1e3 * seconds,
        end.steps as f64 / seconds,
        1e-9 * end.bytes_per_pe as f64 / seconds,
    );
    // The picture is written; a reader of this text that has gone is no failure.
    let _ = io::stdout().write_all(text.as_bytes());
}
