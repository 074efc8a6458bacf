//! The engine `openshmem`: programs as processes under Open MPI's `oshrun`, with a limit of time.
// The engine is the same with the feature `cuda`, and its tests take a while.
#![cfg(all(unix, not(feature = "cuda")))]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a job of these may take, on a machine that has other things to do.
const LIMIT: Duration = Duration::from_mins(2);
/// How soon a job is over in which a PE fails: 5 s, and as long again for the start of its processes.
const SOON: Duration = Duration::from_secs(10);

/// The jobs run one at a time: some look at the clock, and each has more threads than the machine has cores.
static ONE: Mutex<()> = Mutex::new(());

struct Job {
    child: Child,
    /// Open while this is there.
    stdin: Option<ChildStdin>,
    lines: Receiver<(bool, String)>,
    stdout: String,
    stderr: String,
    start: Instant,
    dir: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

struct Done {
    /// `None` after a signal.
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
}

/// Whether there is an `oshrun`; says so if not.
fn is_there() -> bool {
    let found = Command::new("oshrun").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: no oshrun (Debian: openmpi-bin libopenmpi-dev)");
    }
    found
}

impl Job {
    /// The helper program with these arguments on `pes` processes; on one without `oshrun` for `None`.
    fn start(pes: Option<usize>, args: &[&str], environment: &[(&str, &str)]) -> Job {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let program = env!("CARGO_BIN_EXE_shmem_program");
        // What Open MPI leaves behind when it is killed lies here, and goes with it. The path is short, since sockets lie
        // there too.
        let name = format!("escrow-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let dir = [PathBuf::from("/dev/shm"), std::env::temp_dir()].into_iter().find(|dir| dir.is_dir());
        let dir = dir.expect("a place for files").join(name);
        std::fs::create_dir_all(&dir).expect("a place for files");
        let mut command = match pes {
            Some(pes) => {
                let mut command = Command::new("oshrun");
                command.args(["--allow-run-as-root", "--oversubscribe", "-np", &pes.to_string(), program]);
                command
            }
            None => Command::new(program),
        };
        for name in ["ESCROW_SHMEM", "ESCROW_SHMEM_WAIT", "OMPI_MCA_memory"] {
            command.env_remove(name);
        }
        command
            .args(args)
            .env("OMPI_MCA_orte_tmpdir_base", &dir)
            .env("OMPI_MCA_btl_vader_backing_directory", &dir)
            .env("OMPI_MCA_sshmem_base_backing_file_dir", &dir)
            .env("UCX_POSIX_DIR", &dir)
            .env("RUST_BACKTRACE", "0")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().expect("the job's processes start");
        let (sender, lines) = channel();
        let read = |from: Box<dyn Read + Send>, error: bool| {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(from).lines().map_while(Result::ok) {
                    let _ = sender.send((error, line));
                }
            });
        };
        read(Box::new(child.stdout.take().expect("it is piped")), false);
        read(Box::new(child.stderr.take().expect("it is piped")), true);
        let stdin = child.stdin.take();
        let (stdout, stderr) = (String::new(), String::new());
        Job { child, stdin, lines, stdout, stderr, start: Instant::now(), dir, _turn: turn }
    }

    /// Reads on until a line of standard error has all of `texts`, or all has been read.
    fn wait_for(&mut self, texts: &[&str]) {
        loop {
            let left = LIMIT.saturating_sub(self.start.elapsed());
            let Ok((error, line)) = self.lines.recv_timeout(left) else { break };
            let _ = writeln!(if error { &mut self.stderr } else { &mut self.stdout }, "{line}");
            if !texts.is_empty() && error && texts.iter().all(|text| line.contains(text)) {
                return;
            }
        }
        if !texts.is_empty() || self.start.elapsed() >= LIMIT {
            let (stdout, stderr) = (self.stdout.clone(), self.stderr.clone());
            panic!("the job did not say or do in time what it should: {texts:?}\n{stdout}\n{stderr}");
        }
    }

    fn finish(mut self) -> Done {
        drop(self.stdin.take());
        self.wait_for(&[]);
        let status = self.child.wait().expect("it was started here");
        let took = self.start.elapsed();
        Done {
            code: status.code(),
            stdout: std::mem::take(&mut self.stdout),
            stderr: std::mem::take(&mut self.stderr),
            took,
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            // `oshrun` ends its processes when it is asked to; what is left of its group after that is killed.
            for signal in ["-TERM", "-KILL"] {
                let group = format!("-{}", self.child.id());
                let _ = Command::new("kill").args([signal, "--", &group]).status();
                let asked = Instant::now();
                while asked.elapsed() < Duration::from_secs(3) && !matches!(self.child.try_wait(), Ok(Some(_))) {
                    thread::yield_now();
                }
            }
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn run(pes: usize, program: &str) -> Done {
    Job::start(Some(pes), &[program, &pes.to_string()], &[]).finish()
}

impl Done {
    fn assert_good(&self, processes: usize, program: &str) {
        let (out, err) = (&self.stdout, &self.stderr);
        assert_eq!(self.code, Some(0), "{program} on {processes}:\n{out}\n{err}");
        assert_eq!(out.matches(&format!("done: {program}")).count(), processes, "{out}\n{err}");
        assert!(!err.contains("escrow:"), "{err}");
    }

    /// The job ended soon, not well, and said why.
    fn assert_bad(&self, texts: &[&str]) {
        let (out, err) = (&self.stdout, &self.stderr);
        assert_ne!(self.code, Some(0), "{out}\n{err}");
        assert!(self.took < SOON, "it took {:?}\n{out}\n{err}", self.took);
        for text in texts {
            assert!(err.contains(text), "`{text}` is missing:\n{out}\n{err}");
        }
    }
}

fn all_good_programs(pes: usize) {
    if is_there() {
        run(pes, "good").assert_good(pes, "good");
    }
}

#[test]
fn good_programs_on_1_process() {
    all_good_programs(1);
}

#[test]
fn good_programs_on_2_processes() {
    all_good_programs(2);
}

#[test]
fn good_programs_on_3_processes() {
    all_good_programs(3);
}

#[test]
fn good_programs_on_4_processes() {
    all_good_programs(4);
}

#[test]
fn good_programs_under_chaos() {
    if is_there() {
        Job::start(Some(2), &["good", "2", "11"], &[]).finish().assert_good(2, "good");
    }
}

/// Open MPI 4.1.4 crashes at the end of every program, and at the start of some, if nobody helps it.
#[test]
fn start_and_end_over_and_over() {
    if is_there() {
        for _ in 0..5 {
            run(2, "elements").assert_good(2, "elements");
            Job::start(None, &["elements", "1"], &[("ESCROW_SHMEM", "openshmem")]).finish().assert_good(1, "elements");
        }
    }
}

#[test]
fn without_oshrun_there_is_one_process() {
    if is_there() {
        Job::start(None, &["good", "1"], &[("ESCROW_SHMEM", "openshmem")]).finish().assert_good(1, "good");
        let done = Job::start(None, &["elements", "2"], &[("ESCROW_SHMEM", "openshmem")]).finish();
        assert_eq!(done.code, Some(2));
        assert!(done.stdout.contains("it was asked to have 2 PEs, but this process was not started by `oshrun`"));
    }
}

#[test]
fn the_environment_names_the_engine() {
    if is_there() {
        // Each process has a job of its own.
        let done = Job::start(Some(2), &["elements", "3"], &[("ESCROW_SHMEM", "local")]).finish();
        done.assert_good(2, "elements");
        let done = Job::start(None, &["elements", "1"], &[("ESCROW_SHMEM", "smoke")]).finish();
        assert!(done.stdout.contains(r#"ESCROW_SHMEM="smoke" is not usable: `local`"#));
    }
}

#[test]
fn another_number_of_processes_is_an_error() {
    if is_there() {
        let done = Job::start(Some(2), &["elements", "3"], &[]).finish();
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stdout.contains("it was asked to have 3 PEs, but `oshrun` started 2"), "{}", done.stdout);
    }
}

#[test]
fn a_process_has_one_job() {
    if is_there() {
        let done = run(2, "twice");
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stdout.contains("Open MPI has one job in a process"), "{}", done.stdout);
    }
}

#[test]
fn pes_that_differ_in_a_size_a_call_or_a_value() {
    if is_there() {
        for pes in [2, 3] {
            run(pes, "sizes_differ").assert_bad(&[
                "`create_buffer` of 10 elements of 4 bytes (call 2 of the team)",
                "`create_buffer` of 11 elements of 4 bytes (call 2 of the team)",
            ]);
        }
        run(2, "calls_differ").assert_bad(&["`barrier_all` of 0 values", "`reduce` of 2 elements of 1 bytes"]);
        run(2, "values_differ").assert_bad(&["PE 0 in `barrier_all` of 2 values", "PE 1 in `barrier_all` of 2 values"]);
    }
}

#[test]
fn a_panic_ends_the_job() {
    if is_there() {
        for pes in [2, 4] {
            run(pes, "panic").assert_bad(&["escrow: PE 1: it panicked: ", "no such table"]);
        }
        run(2, "panic_while_others_wait_for_a_signal").assert_bad(&["escrow: PE 1: it panicked: ", "no such signal"]);
    }
}

#[test]
fn a_process_that_exits_ends_the_job() {
    if is_there() {
        run(2, "exit").assert_bad(&["escrow: PE 1: the process ended before its job"]);
        run(3, "returns_early").assert_bad(&["the end of the job", "`barrier_all` of 0 values"]);
    }
}

#[test]
fn an_error_of_one_ends_the_job_with_its_text() {
    if is_there() {
        let text = "escrow: PE 1: there is no PE 42: the team has 2, counted from 0";
        run(2, "one_error").assert_bad(&[text]);
        run(2, "one_error_while_others_wait_for_a_signal").assert_bad(&[text]);
    }
}

#[test]
fn an_error_of_all_is_returned_on_each() {
    if is_there() {
        let done = run(3, "all_errors");
        assert_eq!(done.code, Some(2), "{}\n{}", done.stdout, done.stderr);
        assert!(done.stdout.contains("returned: out of symmetric memory: 70368744177664 bytes were asked for"));
        assert!(!done.stderr.contains("escrow:"), "{}", done.stderr);
    }
}

#[test]
fn a_late_pe_is_named_and_the_job_goes_on() {
    if is_there() {
        let mut job = Job::start(Some(2), &["late", "2"], &[("ESCROW_SHMEM_WAIT", "1")]);
        let line = ["escrow: PE 1 has waited 1 s in `barrier_all` of 0 values", "not there yet: PE 0"];
        job.wait_for(&line);
        let done = job.finish(); // ends its standard input, for which PE 0 waits
        assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
        assert_eq!(done.stdout.matches("done: late").count(), 2);
        assert_eq!(done.stderr.matches("escrow:").count(), 1, "it is said once: {}", done.stderr);
    }
}
