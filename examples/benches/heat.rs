//! What a step of the heat solver takes: the plain loop, and 1 and 2 PEs with one thread each.
//!
//! ```text
//! cargo bench -p escrow-examples --bench heat [-- WIDTH ROUNDS]
//! ```
//!
//! The plate is square. The rounds take turns, so that what else the machine does hits all of them; what counts is the
//! median. With 2 cores that nothing else uses, 2 PEs are to be at least 1.7 times as fast as 1.

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, mem};

use escrow::{Error, shmem};
use escrow_examples::heat::{Field, Held, Plan, Plate, Rows, run, step_row};

/// Steps of a round.
const STEPS: usize = 50;

const THREADS: &str = "ESCROW_CPU_THREADS";

fn main() -> ExitCode {
    // It is read when the CPU device is used first, so it is there from the start.
    if env::var_os(THREADS).is_none() {
        let this = env::current_exe().expect("this program has a path");
        let status = Command::new(this).args(env::args_os().skip(1)).env(THREADS, "1").status();
        return ExitCode::from(u8::from(!status.is_ok_and(|status| status.success())));
    }
    // `cargo bench` adds `--bench`.
    let mut numbers = env::args().skip(1).filter_map(|argument| argument.parse::<usize>().ok());
    let (width, rounds) = (numbers.next().unwrap_or(4096).max(3), numbers.next().unwrap_or(7).max(1));
    match measure(width, rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heat: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(width: usize, rounds: usize) -> Result<(), Error> {
    let value = |i: usize| ((i.wrapping_mul(2_654_435_761) >> 8) & 0xffff) as f32 / 65536.0;
    let field = Field::new(width, (0..width * width).map(value).collect());
    let plate = Plate { field, held: Held::Edges };
    let names = ["plain loop", "1 PE", "2 PEs"];
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        times[0].push(plain(&plate));
        times[1].push(on_pes(&plate, 1)?);
        times[2].push(on_pes(&plate, 2)?);
    }
    let medians = times.map(|mut of_one| {
        of_one.sort_by(f64::total_cmp);
        of_one[of_one.len() / 2]
    });
    let threads = env::var(THREADS).unwrap_or_default();
    println!("{width} x {width} points, {THREADS}={threads}, median of {rounds} rounds of {STEPS} steps");
    for (name, seconds) in names.iter().zip(medians) {
        // Old and new value of a point, and whether it is held.
        let bytes = (width * width * 9 * STEPS) as f64;
        let (step, speed, faster) = (1e3 * seconds / STEPS as f64, 1e-9 * bytes / seconds, medians[1] / seconds);
        println!("{name:<12}{step:>9.3} ms a step {speed:>8.2} GB/s {faster:>6.2} x 1 PE");
    }
    Ok(())
}

/// Seconds of the steps in a loop over rows, without the library.
fn plain(plate: &Plate) -> f64 {
    let (width, rows) = (plate.field.width(), plate.field.rows());
    let mut old = plate.field.values().to_vec();
    let mut new = old.clone();
    let held = vec![0u8; old.len()];
    let start = Instant::now();
    for _ in 0..STEPS {
        for row in 1..rows - 1 {
            let at = |row: usize| row * width..(row + 1) * width;
            let (up, mid, down) = (&old[at(row - 1)], &old[at(row)], &old[at(row + 1)]);
            step_row(Rows { up, mid, down, held: &held[at(row)] }, 0..width, &mut new[at(row)]);
        }
        mem::swap(&mut old, &mut new);
    }
    black_box(&old);
    start.elapsed().as_secs_f64()
}

fn on_pes(plate: &Plate, pes: usize) -> Result<f64, Error> {
    let plan = Plan { steps: STEPS, check: STEPS, tolerance: None };
    let ends = shmem::launch(pes, |job| run(job, (job.my_pe() == 0).then_some(plate), &plan, |_, _| {}))?;
    Ok(ends.into_iter().flatten().map(|end| end.time.as_secs_f64()).sum())
}
