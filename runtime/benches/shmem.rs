//! What SHMEM jobs of 2 PEs cost: `cargo bench -p escrow --bench shmem`.
//!
//! The engine `openshmem` stands beside a C program on the same Open MPI (`shmem.c`, compiled here by `oshcc`), the engine
//! `local` beside `memcpy`. PE 0 measures while PE 1 waits. A figure without a word is the cost of one operation when many are
//! enqueued and waited for once; `.. + wait` is a call, and the wait for it, each time. In C every call waits.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use escrow::{Error, Exposed, ShmemBuffer, ShmemContext, shmem};

const LARGE: usize = 2 << 20;
/// In the environment of the processes under `oshrun`.
const CHILD: &str = "ESCROW_BENCH_PE";
/// Jobs of each kind, in turn: the median of their medians is what is reported.
const JOBS: usize = 5;

type Figures = HashMap<String, f64>;

fn main() {
    if std::env::var_os(CHILD).is_some() {
        shmem::launch(2, measure).expect("a job of 2 PEs");
        return;
    }
    let c = compile();
    let mut runs: [Vec<Figures>; 4] = Default::default();
    for _ in 0..JOBS {
        if let Some(c) = &c {
            runs[0].extend(oshrun(c));
            runs[1].extend(std::env::current_exe().ok().and_then(|exe| oshrun(&exe)));
        }
        runs[2].extend(local());
        runs[3].push(memcpy());
    }
    let [c, openshmem, local, memcpy] = runs.map(|runs| median_of(&runs));
    if openshmem.is_empty() {
        println!("openshmem: skipped, since there is no oshcc or oshrun (Debian: openmpi-bin libopenmpi-dev)");
    }
    println!("{:<24}{:>12}{:>12}{:>12}{:>12}", "2 PEs", "C", "openshmem", "local", "memcpy");
    for name in NAMES {
        let unit = if name.ends_with("_gbs") { "GB/s" } else { "ns" };
        let cell = |figures: &Figures| figures.get(name).map_or("-".to_owned(), |value| format!("{value:.1}"));
        let title = format!("{} ({unit})", name.trim_end_matches("_gbs").replace('_', " "));
        println!("{title:<24}{:>12}{:>12}{:>12}{:>12}", cell(&c), cell(&openshmem), cell(&local), cell(&memcpy));
    }
}

const NAMES: [&str; 12] = [
    "put_8_quiet",
    "put_8",
    "get_8",
    "add",
    "put_8_+_wait",
    "get_8_+_wait",
    "fetch_add_+_wait",
    "put_32_KiB_gbs",
    "put_128_KiB_gbs",
    "put_2_MiB_gbs",
    "barrier",
    "barrier_+_wait",
];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn median_of(runs: &[Figures]) -> Figures {
    let of = |name: &str| runs.iter().filter_map(|run| run.get(name).copied()).collect::<Vec<_>>();
    NAMES
        .into_iter()
        .map(|name| (name, of(name)))
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| (name.to_owned(), median(values)))
        .collect()
}

/// The C program, if there is a compiler for it.
fn compile() -> Option<std::path::PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("escrow-shmem-c");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/shmem.c");
    let compiled = Command::new("oshcc").args(["-O2", "-o"]).arg(&program).arg(source).status();
    compiled.is_ok_and(|status| status.success()).then_some(program)
}

/// What PE 0 of a job of 2 processes prints.
fn oshrun(program: &Path) -> Option<Figures> {
    let output = Command::new("oshrun")
        .args(["--allow-run-as-root", "--oversubscribe", "--mca", "memory", "^patcher", "-np", "2"])
        .arg(program)
        .env(CHILD, "1")
        .output()
        .ok()?;
    if !output.status.success() {
        eprintln!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(figures(&String::from_utf8_lossy(&output.stdout)))
}

fn figures(text: &str) -> Figures {
    let figure =
        |line: &str| line.rsplit_once(' ').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    text.lines().filter_map(figure).collect()
}

fn local() -> Option<Figures> {
    // As a process of its own: `launch` looks at the environment.
    let output =
        Command::new(std::env::current_exe().ok()?).env(CHILD, "1").env("ESCROW_SHMEM", "local").output().ok()?;
    Some(figures(&String::from_utf8_lossy(&output.stdout)))
}

fn memcpy() -> Figures {
    let mut figures = Figures::new();
    let (src, mut dst) = (vec![1u8; LARGE], vec![0u8; LARGE]);
    for (name, bytes, count) in SIZES {
        let copy = |_| {
            let start = Instant::now();
            for _ in 0..count {
                black_box(&mut dst)[..bytes].copy_from_slice(&black_box(&src)[..bytes]);
            }
            start.elapsed().as_nanos() as f64 / count as f64
        };
        figures.insert(name.to_owned(), bytes as f64 / median((0..21).map(copy).collect()));
    }
    figures
}

const SIZES: [(&str, usize, usize); 3] =
    [("put_32_KiB_gbs", 32 << 10, 2000), ("put_128_KiB_gbs", 128 << 10, 500), ("put_2_MiB_gbs", LARGE, 50)];

/// One PE's part; PE 0 prints.
fn measure(job: &ShmemContext) -> Result<(), Error> {
    let open = job.barrier_all(job.create_buffer_zeroed::<u8>(LARGE)?)?;
    let words = job.barrier_all(job.create_buffer_zeroed::<u64>(1)?)?;
    if job.my_pe() == 0 {
        one_sided(job, &open, &words)?;
    }
    let (open, words) = job.barrier_all((open, words))?;
    time(job, "barrier", 21, 2000, || job.barrier_all(()))?;
    time(job, "barrier_+_wait", 21, 2000, || {
        job.barrier_all(())?;
        Ok(job.context().synchronize(())?)
    })?;
    drop((open, words));
    Ok(())
}

fn one_sided(
    job: &ShmemContext,
    open: &Exposed<ShmemBuffer<'_, u8>>,
    words: &Exposed<ShmemBuffer<'_, u64>>,
) -> Result<(), Error> {
    let ctx = job.context();
    let mut mine = ctx.enqueue_create_buffer::<u8>(LARGE)?.enqueue_fill(1)?;
    let (pe, atomics) = (job.next(), job.atomics()?);
    let eight = open.slice(..8)?;
    time(job, "put_8_quiet", 41, 20_000, || {
        job.put(&mine.as_span().slice(..8)?, &eight, pe)?;
        job.quiet()
    })?;
    time(job, "put_8", 41, 20_000, || job.put(&mine.as_span().slice(..8)?, &eight, pe))?;
    time(job, "get_8", 41, 20_000, || job.get(&eight, &mut mine.as_span_mut().slice(..8)?, pe))?;
    time(job, "add", 41, 20_000, || atomics.add(1u64, words, 0, pe))?;
    time(job, "put_8_+_wait", 41, 2000, || {
        job.put(&mine.as_span().slice(..8)?, &eight, pe)?;
        job.quiet()?;
        Ok(ctx.synchronize(())?)
    })?;
    time(job, "get_8_+_wait", 41, 2000, || {
        job.get(&eight, &mut mine.as_span_mut().slice(..8)?, pe)?;
        Ok(ctx.synchronize(())?)
    })?;
    time(job, "fetch_add_+_wait", 41, 2000, || atomics.fetch_add(1u64, words, 0, pe).map(|_| ()))?;
    for (name, bytes, count) in SIZES {
        let (src, dst) = (mine.as_span().slice(..bytes)?, open.slice(..bytes)?);
        let ns = rounds(job, 21, count, || job.put(&src, &dst, pe))?;
        println!("{name} {:.2}", bytes as f64 / ns);
    }
    Ok(())
}

fn time(
    job: &ShmemContext,
    name: &str,
    count_of_rounds: usize,
    count: usize,
    f: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let ns = rounds(job, count_of_rounds, count, f)?;
    if job.my_pe() == 0 {
        println!("{name} {ns:.2}");
    }
    Ok(())
}

/// Nanoseconds of one call when `count` are enqueued and waited for once: the median of some rounds.
fn rounds(
    job: &ShmemContext,
    rounds: usize,
    count: usize,
    mut f: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut each = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..count {
            f()?;
        }
        job.context().synchronize(())?;
        each.push(start.elapsed().as_nanos() as f64 / count as f64);
    }
    Ok(median(each))
}
