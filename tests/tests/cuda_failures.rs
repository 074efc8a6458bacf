//! Each driver call of a program fails in turn, before its work and after it, once and for good.
//!
//! Each failure has a process of its own, which must end by itself: with the programs' own assertions kept, an error that
//! names the driver's code or says that memory is missing, no report of the fake driver (races, uses after free, bad
//! handles), and no memory lost that the failed call did not concern.
#![cfg(feature = "cuda")]

mod cuda_failures {
    pub mod programs;
}

use std::env;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cuda_failures::programs;
use escrow::cust::context::{Context, CurrentContext};
use escrow::{Device, DeviceContext, Error};
use escrow_tests::{fake, gpu};

/// Longer than any of the programs takes, on a busy machine too.
const HANG: Duration = Duration::from_mins(1);

/// Out of memory, before the call's work.
const ONCE: i32 = 2;
/// What a kernel's trap leaves: behind the call's work, and every later call says it too.
const FOR_GOOD: i32 = 719;
/// Neither missing memory nor a context that is not current: behind the call's work, and only once.
const PLAIN: i32 = 999;
/// A context that is not current: before the call's work. Calls on a stream are repeated then.
const NO_CONTEXT: i32 = 201;

/// Runs `program` in this process, which is a child, and says what came of it.
fn act(program: programs::Program) {
    let done = Device::cuda(0).and_then(DeviceContext::new).and_then(|ctx| {
        let done = program(&ctx);
        let _ = ctx.synchronize(());
        done
    });
    let calls = fake::calls("*");
    // What is parked is given back when all has run.
    let waited = escrow::cust::device::Device::get_device(0).and_then(Context::new).and_then(|context| {
        let waited = CurrentContext::synchronize();
        drop(context);
        waited
    });
    for device in Device::all() {
        device.trim();
    }
    let live = if waited.is_ok() { fake::live_allocations() } else { 0 };
    let said = match &done {
        Ok(()) => "ok".to_owned(),
        Err(Error::OutOfMemory { .. }) => format!("error {ONCE}"),
        Err(Error::Driver { code, .. }) => format!("error {code}"),
        Err(error) => format!("untyped {error:?}"),
    };
    println!("\ncalls {calls} live {live} {said}");
}

fn start(test: &str, fault: &str) -> Child {
    Command::new(env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .env("ESCROW_CUDA_CHILD", test)
        .env("FAKE_CUDA_DEVICES", "2")
        .env("FAKE_CUDA_FAIL", fault)
        // Calls have the numbers that a real driver gives them.
        .env_remove("FAKE_CUDA_STRICT")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program starts")
}

/// How a child ended, and what it said. It says less than a pipe holds.
fn finish(mut child: Child, fault: &str) -> (ExitStatus, String, String) {
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > HANG {
            let _ = child.kill();
            panic!("{fault}: hangs");
        }
        thread::sleep(Duration::from_millis(1));
    };
    let (mut said, mut wrong) = (String::new(), String::new());
    child.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
    child.stderr.take().expect("a pipe").read_to_string(&mut wrong).expect("text");
    (status, said, wrong)
}

/// What the last line says: calls, allocations that are left, and the result.
fn parse(said: &str) -> (u64, usize, &str) {
    let line =
        said.lines().rev().find(|line| line.starts_with("calls ")).unwrap_or_else(|| panic!("no result: {said}"));
    let mut words = line.splitn(5, ' ');
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    let calls = number(words.nth(1)).expect("a number of calls");
    let live = number(words.nth(1)).expect("a number of allocations");
    (calls, live as usize, words.next().expect("a result"))
}

/// Lets each call of `program` fail in turn. `may_abort`: where memory of the user is pinned, a wait that proves nothing ends
/// the process. `may_lose`: allocations that one failure may cost.
fn each_call_fails(test: &str, program: programs::Program, may_abort: bool, may_lose: usize) {
    if env::var("ESCROW_CUDA_CHILD").is_ok_and(|child| child == test) {
        return act(program);
    }
    if gpu().is_none() || !fake::is_here() {
        return;
    }
    let (status, said, wrong) = finish(start(test, ""), "no fault");
    assert!(status.success(), "{said}{wrong}");
    let (calls, live, result) = parse(&said);
    assert_eq!((live, result), (0, "ok"), "without a fault");

    let next = AtomicU64::new(1);
    let work = || loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        if nth > calls {
            return;
        }
        for (fault, code, for_good) in [
            (format!("*:{nth}:{ONCE}"), ONCE, false),
            (format!("*:{nth}:{NO_CONTEXT}"), NO_CONTEXT, false),
            (format!("*:{nth}:{PLAIN}:after"), PLAIN, false),
            (format!("*:{nth}:{FOR_GOOD}:after:sticky"), FOR_GOOD, true),
        ] {
            let (status, said, wrong) = finish(start(test, &fault), &fault);
            assert!(!wrong.contains("fake-cuda:"), "{fault}: {wrong}");
            if may_abort && status.code().is_none() {
                continue;
            }
            assert!(status.success(), "{fault}: {said}{wrong}");
            let (_, live, result) = parse(&said);
            assert!(result == "ok" || result == format!("error {code}"), "{fault}: {result}");
            assert!(for_good || live <= may_lose, "{fault}: {live} allocations are left: {result}");
        }
    };
    thread::scope(|threads| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from).min(4) {
            threads.spawn(work);
        }
    });
}

/// A test for each program.
macro_rules! programs {
    ($($program:ident: $may_abort:expr, $may_lose:expr;)+) => { $(
        #[test]
        fn $program() {
            each_call_fails(stringify!($program), programs::$program, $may_abort, $may_lose);
        }
    )+ };
}

programs! {
    everything: false, 1;
    scopes: false, 1;
    registered: true, 1;
    peers: false, 1;
    streams_of_others: false, 1;
    memory_of_others: false, 1;
    kernels: false, 1;
    fills: false, 1;
    shared_memory: false, 1;
    handoffs: false, 1;
    pieces_and_pointers: false, 1;
    crowds: false, 1;
}
