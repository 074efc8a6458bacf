//! The CPU device from the inside: streams, events, failures, sleeping and waking.

#![expect(clippy::cast_ptr_alignment, reason = "packed arguments are aligned to 16")]

use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::chaos::Scheduler;
use super::{Core, CpuDevice, Event, become_worker, is_worker, memory, team};
use crate::Device;
use crate::block::{BlockRef, Place};
use crate::device::Kind;
use crate::error::{Error, Operation};
use crate::op::{Call, CpuLaunch, Op, Packed};

const WHAT: Operation = Operation::Launch;

/// What kernel bodies of these tests see. Leaked, so that it outlives every stream.
struct World {
    log: Mutex<Vec<u32>>,
    open: Mutex<bool>,
    bell: Condvar,
    entered: AtomicUsize,
}

type Body = fn(&World, u32);

impl World {
    fn new() -> &'static World {
        Box::leak(Box::new(World {
            log: Mutex::new(Vec::new()),
            open: Mutex::new(false),
            bell: Condvar::new(),
            entered: AtomicUsize::new(0),
        }))
    }

    fn op(&'static self, body: Body, value: u32) -> Op {
        unsafe fn run(args: *const u8, start: usize, end: usize) {
            // SAFETY: `op` packs these arguments.
            let (world, body, value) = unsafe { args.cast::<(&'static World, Body, u32)>().read() };
            assert_eq!((start, end), (0, 1));
            body(world, value);
        }
        let args = Packed::new((self, body, value));
        Op::Launch(CpuLaunch { run, args, threads: 1, single: true, kernel: "test" })
    }

    /// An operation that notes `value`.
    fn note(&'static self, value: u32) -> Op {
        self.op(|world, value| world.log.lock().unwrap().push(value), value)
    }

    /// An operation that panics.
    fn fail(&'static self) -> Op {
        self.op(|_, value| panic!("number {value}"), 7)
    }

    /// An operation that ends after `open`.
    fn door(&'static self) -> Op {
        let body: Body = |world, _| {
            world.entered.fetch_add(1, Ordering::SeqCst);
            let mut open = world.open.lock().unwrap();
            while !*open {
                open = world.bell.wait(open).unwrap();
            }
        };
        self.op(body, 0)
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.bell.notify_all();
    }

    fn log(&self) -> Vec<u32> {
        self.log.lock().unwrap().clone()
    }
}

#[cfg_attr(not(feature = "cuda"), allow(irrefutable_let_patterns))] // there is no other kind
fn cpu(device: &Device) -> &CpuDevice {
    let Kind::Cpu(cpu) = device.kind() else { unreachable!("a CPU device") };
    cpu
}

/// A count of a new block.
fn allocate(device: &Device) -> BlockRef {
    BlockRef::new(cpu(device).take(Place::Host, 100).unwrap(), 100, device.clone())
}

fn plain() -> Arc<Core> {
    Core::spawn(2, None).unwrap()
}

fn settled(core: &Core) -> Result<(), Error> {
    core.wait(Operation::Wait, core.tail())
}

fn failure(result: Result<(), Error>) -> String {
    match result.unwrap_err() {
        Error::StreamFailed(failure) => failure.message.clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn operations_run_in_the_order_of_their_enqueues() {
    let world = World::new();
    let core = plain();
    for value in 0..5000 {
        core.enqueue(WHAT, world.note(value)).unwrap();
    }
    settled(&core).unwrap();
    assert_eq!(world.log(), (0..5000).collect::<Vec<_>>());
    core.close();
}

#[test]
fn a_stream_that_stands_still_runs_an_operation_on_the_callers_thread() {
    let world = World::new();
    let core = plain();
    let here = || Ok(thread::current().id());
    assert_eq!(core.run_here(here).unwrap().unwrap(), thread::current().id());
    core.enqueue(WHAT, world.door()).unwrap();
    assert!(core.run_here(here).is_none(), "something is in front of it");
    world.open();
    settled(&core).unwrap();
    assert!(core.run_here(here).is_some());
    assert_eq!(core.tail(), 3);

    let refused = || Err::<(), _>(Error::Refused { op: WHAT, why: "wanted by a test" });
    assert!(core.run_here(refused).unwrap().is_err());
    assert!(settled(&core).is_err(), "its failure is the stream's");
    assert!(core.run_here(here).is_none());
    core.close();
}

/// Enqueues, and operations here, by threads that compete; the last ones are what the worker may sleep through.
#[test]
fn operations_here_and_there_take_their_turns() {
    let world = World::new();
    let core = plain();
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..2 {
            let (core, inside) = (&core, &inside);
            scope.spawn(move || {
                for value in 0..if cfg!(miri) { 50 } else { 20_000 } {
                    let run = || {
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                        world.log.lock().unwrap().push(thread * 100_000 + value);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        Ok(())
                    };
                    if core.run_here(run).is_none() {
                        core.enqueue(WHAT, world.note(thread * 100_000 + value)).unwrap();
                        if value % 7 == 0 {
                            settled(core).unwrap();
                        }
                    }
                }
                settled(core).unwrap();
            });
        }
    });
    let log = world.log();
    for thread in 0..2 {
        let own = log.iter().filter(|value| **value / 100_000 == thread).map(|value| value % 100_000);
        assert!(own.eq(0..if cfg!(miri) { 50 } else { 20_000 }));
    }
    core.close();
}

/// One thread has its operations run here where it can, and one is behind them: how far the stream is never goes back. The
/// second one would wait for ever, since the first one finds no stream that stands still any more.
#[test]
fn what_the_worker_passes_behind_an_operation_here_stays_passed() {
    let world = World::new();
    let core = plain();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = core.run_here(|| Ok(()));
            }
        });
        for value in 0..if cfg!(miri) { 50 } else { 100_000 } {
            core.enqueue(WHAT, world.note(value)).unwrap();
            let (number, start) = (core.tail(), Instant::now());
            while !core.has_passed(number) {
                if start.elapsed() > Duration::from_secs(20) {
                    over.store(true, Ordering::Relaxed);
                    panic!("{} has been passed, {number} never is", core.done());
                }
                thread::yield_now();
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    core.close();
}

/// A stream that fails while it is asked is behind its failure: nothing runs there, here or elsewhere.
#[test]
fn nothing_runs_here_behind_a_failure() {
    fn call() -> Op {
        unsafe fn run(_: *const u8) -> Result<(), Error> {
            Err(Error::Refused { op: WHAT, why: "wanted by a test" })
        }
        unsafe fn skip(_: *const u8, _: &Error) {}
        Op::Call(Call { run, skip, args: Packed::new(()) })
    }
    for _ in 0..if cfg!(miri) { 5 } else { 3000 } {
        let core = plain();
        core.enqueue(WHAT, call()).unwrap();
        while !core.has_passed(1) {
            assert!(core.run_here(|| Ok(())).is_none());
        }
        assert!(core.run_here(|| Ok(())).is_none());
        core.close();
    }
}

#[test]
fn what_is_parked_during_an_operation_here_goes_with_its_end() {
    let device = Device::cpu_chaos(0);
    let core = plain();
    core.enqueue(WHAT, World::new().note(0)).unwrap();
    settled(&core).unwrap();
    let park = || {
        thread::scope(|scope| scope.spawn(|| core.park(allocate(&device))).join().unwrap());
        assert_ne!(cpu(&device).held(), 0, "the operation may be using it");
        Ok(())
    };
    core.run_here(park).expect("it stands still").unwrap();
    assert_eq!(cpu(&device).held(), 0);
    core.close();
}

#[test]
fn each_thread_keeps_its_order_on_a_shared_stream() {
    let world = World::new();
    let core = plain();
    thread::scope(|scope| {
        for thread in 0..3 {
            let core = &core;
            scope.spawn(move || {
                for value in 0..2000 {
                    core.enqueue(WHAT, world.note(thread * 10_000 + value)).unwrap();
                }
            });
        }
    });
    settled(&core).unwrap();
    let log = world.log();
    assert_eq!(log.len(), 6000);
    for thread in 0..3 {
        let own: Vec<_> = log.iter().filter(|value| **value / 10_000 == thread).map(|value| value % 10_000).collect();
        assert_eq!(own, (0..2000).collect::<Vec<_>>());
    }
    core.close();
}

#[test]
fn a_stream_goes_on_after_the_event_it_waits_for() {
    let world = World::new();
    let (first, second) = (plain(), plain());
    first.enqueue(WHAT, world.door()).unwrap();
    first.enqueue(WHAT, world.note(1)).unwrap();
    let event = Event::of(&first);
    assert!(event.is_on(&first) && !event.is_on(&second));
    second.enqueue(WHAT, Op::Wait(event.clone())).unwrap();
    second.enqueue(WHAT, world.note(2)).unwrap();
    assert!(!event.is_finished().unwrap());
    world.open();
    settled(&second).unwrap();
    assert!(event.is_finished().unwrap());
    assert_eq!(world.log(), [1, 2]);
    first.close();
    second.close();
}

#[test]
fn a_failure_skips_what_is_behind_and_spreads_through_events() {
    let world = World::new();
    let (first, second, third) = (plain(), plain(), plain());
    first.enqueue(WHAT, world.note(1)).unwrap();
    let before = Event::of(&first);
    first.enqueue(WHAT, world.fail()).unwrap();
    let behind = Event::of(&first);
    first.enqueue(WHAT, world.note(2)).unwrap();
    second.enqueue(WHAT, Op::Wait(before.clone())).unwrap();
    second.enqueue(WHAT, world.note(3)).unwrap();
    settled(&second).unwrap();
    third.enqueue(WHAT, Op::After(behind.clone())).unwrap();
    third.enqueue(WHAT, world.note(4)).unwrap();
    settled(&third).unwrap();
    second.enqueue(WHAT, Op::Wait(behind.clone())).unwrap();
    second.enqueue(WHAT, world.note(5)).unwrap();
    assert_eq!(failure(settled(&second)), "number 7");
    assert_eq!(failure(settled(&first)), "number 7");
    assert_eq!(failure(behind.wait(WHAT)), "number 7");
    assert!(behind.is_finished().is_err());
    before.wait(WHAT).unwrap();
    assert!(before.is_finished().unwrap());
    assert_eq!(world.log(), [1, 3, 4]);
    for core in [first, second, third] {
        core.close();
    }
}

#[test]
fn a_failed_stream_still_waits_for_the_events_in_it() {
    // What is parked behind the wait may be in use on the other stream until the event fires.
    let device = Device::cpu_chaos(0);
    let world = World::new();
    let (first, second) = (plain(), plain());
    first.enqueue(WHAT, world.door()).unwrap();
    second.enqueue(WHAT, world.fail()).unwrap();
    let failed = Event::of(&second);
    second.enqueue(WHAT, Op::After(Event::of(&first))).unwrap();
    second.park(allocate(&device));
    failed.wait(WHAT).unwrap_err();
    second.park(allocate(&device));
    assert_eq!(second.tail(), 2);
    assert!(!Event::of(&second).has_passed());
    assert_ne!(cpu(&device).held(), 0);
    world.open();
    settled(&second).unwrap_err();
    assert_eq!(cpu(&device).held(), 0);
    first.close();
    second.close();
}

#[test]
fn panics_of_every_kind_become_text() {
    struct Nasty;
    impl Drop for Nasty {
        fn drop(&mut self) {
            panic_any(Nasty2);
        }
    }
    struct Nasty2;
    impl Drop for Nasty2 {
        fn drop(&mut self) {
            std::process::abort();
        }
    }
    let bodies: [(Body, &str); 4] = [
        (|_, _| panic!("plain"), "plain"),
        (|_, value| panic!("with {value}"), "with 1"),
        (|_, value| panic_any(value), "a value that is not text"),
        (|_, _| panic_any(Nasty), "a value that is not text"),
    ];
    for (body, text) in bodies {
        let world = World::new();
        let core = plain();
        core.enqueue(WHAT, world.op(body, 1)).unwrap();
        assert_eq!(failure(settled(&core)), text);
        core.close();
    }
}

#[test]
fn a_full_queue_blocks_enqueues_but_neither_parks_nor_queries() {
    let device = Device::cpu_chaos(0);
    let world = World::new();
    let core = plain();
    core.enqueue(WHAT, world.door()).unwrap();
    let (said, hear) = mpsc::channel();
    let full = super::core::CAPACITY as u32;
    thread::scope(|scope| {
        let core = &core;
        scope.spawn(move || {
            for value in 0..full + 500 {
                core.enqueue(WHAT, world.note(value)).unwrap();
                said.send(()).unwrap();
            }
        });
        // The door holds one slot until it is passed.
        for _ in 0..full - 1 {
            hear.recv().unwrap();
        }
        core.park(allocate(&device));
        assert!(!Event::of(core).is_finished().unwrap());
        assert_eq!(core.tail(), u64::from(full));
        assert!(hear.try_recv().is_err());
        assert_ne!(cpu(&device).held(), 0);
        world.open();
    });
    settled(&core).unwrap();
    assert_eq!(world.log(), (0..full + 500).collect::<Vec<_>>());
    assert_eq!(cpu(&device).held(), 0);
    core.close();
}

#[test]
fn a_closed_stream_drains_and_lets_go() {
    for seed in [None, Some(1), Some(2)] {
        let device = Device::cpu_chaos(0);
        let world = World::new();
        let core = Core::spawn(1, seed.map(Scheduler::new)).unwrap();
        for value in 0..100 {
            core.enqueue(WHAT, world.note(value)).unwrap();
            core.park(allocate(&device));
        }
        let end = Event::of(&core);
        core.close();
        end.wait(WHAT).unwrap();
        assert_eq!(world.log().len(), 100);
        assert_eq!(cpu(&device).held(), 0);
        drop(end);
        // The worker ends by itself; it holds the last but one count.
        while Arc::strong_count(&core) > 1 {
            thread::yield_now();
        }
    }
}

#[test]
fn what_is_parked_goes_when_it_has_been_passed_and_not_before() {
    let device = Device::cpu_chaos(0);
    let world = World::new();
    let core = plain();
    core.park(allocate(&device));
    assert_eq!(cpu(&device).held(), 0, "nothing was enqueued before it");
    core.enqueue(WHAT, world.door()).unwrap();
    let door = Event::of(&core);
    core.park(allocate(&device));
    core.enqueue(WHAT, world.note(1)).unwrap();
    assert_ne!(cpu(&device).held(), 0);
    world.open();
    door.wait(WHAT).unwrap();
    assert_eq!(cpu(&device).held(), 0);
    core.close();
}

#[test]
fn a_wait_leaves_nothing_that_its_thread_parked() {
    let device = Device::cpu_chaos(0);
    let world = World::new();
    let core = plain();
    for value in 0..3000 {
        core.enqueue(WHAT, world.note(value)).unwrap();
        core.park(allocate(&device));
        settled(&core).unwrap();
        assert_eq!(cpu(&device).held(), 0);
    }
    core.close();
}

#[test]
fn workers_neither_enqueue_nor_wait() {
    assert!(!is_worker());
    for seed in [None, Some(3)] {
        let core = Core::spawn(1, seed.map(Scheduler::new)).unwrap();
        let world = World::new();
        thread::scope(|scope| {
            let core = &core;
            scope.spawn(move || {
                become_worker();
                let refused = |result| matches!(result, Err(Error::FromWorker { op: WHAT }));
                assert!(refused(core.enqueue(WHAT, world.note(1))));
                assert!(refused(core.wait(WHAT, 0)));
                assert!(refused(Event::of(core).wait(WHAT)));
                assert!(Event::of(core).is_finished().unwrap());
            });
        });
        assert_eq!(core.tail(), 0);
        core.enqueue(WHAT, world.op(|world, _| world.log.lock().unwrap().push(u32::from(is_worker())), 0)).unwrap();
        settled(&core).unwrap();
        assert_eq!(world.log(), [1]);
        core.close();
    }
}

/// A program of three streams with edges between them; returns the order in which its operations ran.
fn chaotic(seed: u64) -> (Vec<(u64, u64)>, Vec<u32>) {
    let world = World::new();
    let scheduler = Scheduler::new(seed);
    let cores: Vec<_> = (0..3).map(|_| Core::spawn(1, Some(Arc::clone(&scheduler))).unwrap()).collect();
    for value in 0..60 {
        let at = value as usize % 3;
        cores[at].enqueue(WHAT, world.note(value)).unwrap();
        if value % 7 == 0 {
            let edge = Event::of(&cores[(at + 1) % 3]);
            let _ = edge.is_finished().unwrap();
            cores[at].enqueue(WHAT, Op::Wait(edge)).unwrap();
        }
    }
    for core in &cores {
        settled(core).unwrap();
    }
    let order = scheduler.log();
    for core in &cores {
        core.close();
    }
    (order, world.log())
}

#[test]
fn a_seed_replays_a_chaotic_run() {
    let mut orders = Vec::new();
    for seed in 0..8 {
        let run = chaotic(seed);
        assert_eq!(run.1.len(), 60);
        for _ in 0..3 {
            assert_eq!(chaotic(seed), run);
        }
        for stream in 0..3 {
            let own: Vec<_> = run.1.iter().filter(|value| **value % 3 == stream).copied().collect();
            assert!(own.is_sorted(), "a stream keeps its order");
        }
        orders.push(run);
    }
    orders.sort();
    orders.dedup();
    assert_eq!(orders.len(), 8, "different seeds give different orders");
}

#[test]
fn chaos_leaves_work_pending_until_something_forces_it() {
    let mut pending = 0;
    for seed in 0..20 {
        let world = World::new();
        let core = Core::spawn(1, Some(Scheduler::new(seed))).unwrap();
        core.enqueue(WHAT, world.note(1)).unwrap();
        pending += usize::from(world.log().is_empty());
        settled(&core).unwrap();
        assert_eq!(world.log(), [1]);
        core.close();
    }
    assert!(pending >= 8, "{pending} of 20");
}

#[test]
fn chaos_is_live_with_several_threads_full_queues_and_queries() {
    let world = World::new();
    let scheduler = Scheduler::new(5);
    let many = super::core::CAPACITY as u32 + 100;
    thread::scope(|scope| {
        for thread in 0..3 {
            let scheduler = Arc::clone(&scheduler);
            scope.spawn(move || {
                let core = Core::spawn(1, Some(scheduler)).unwrap();
                for value in 0..many {
                    core.enqueue(WHAT, world.note(thread)).unwrap();
                    if value == 50 {
                        let event = Event::of(&core);
                        while !event.is_finished().unwrap() {}
                    }
                }
                settled(&core).unwrap();
                core.close();
            });
        }
    });
    assert_eq!(world.log().len(), 3 * many as usize);
}

#[test]
fn a_closed_stream_that_waits_for_an_open_one_goes_on_when_that_does() {
    let world = World::new();
    let scheduler = Scheduler::new(9);
    let [first, second, third] = [0; 3].map(|_| Core::spawn(1, Some(Arc::clone(&scheduler))).unwrap());
    first.enqueue(WHAT, world.note(1)).unwrap();
    second.enqueue(WHAT, Op::Wait(Event::of(&first))).unwrap();
    second.enqueue(WHAT, world.note(2)).unwrap();
    third.enqueue(WHAT, Op::Wait(Event::of(&second))).unwrap();
    third.enqueue(WHAT, world.note(3)).unwrap();
    second.close();
    settled(&third).unwrap();
    assert_eq!(world.log(), [1, 2, 3]);
    first.close();
    third.close();
}

#[test]
fn a_body_that_waits_for_the_host_does_not_hang_chaos() {
    let world = World::new();
    let core = Core::spawn(1, Some(Scheduler::new(0))).unwrap();
    core.enqueue(WHAT, world.door()).unwrap();
    // Until it is granted, and the grant has lost its patience.
    while world.entered.load(Ordering::SeqCst) == 0 {
        core.enqueue(WHAT, world.note(1)).unwrap();
    }
    world.open();
    settled(&core).unwrap();
    core.close();
}

#[test]
fn a_team_runs_every_chunk_once_and_reports_the_first_panic() {
    let counts: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                team::run(4, counts.len(), &|chunk| {
                    counts[chunk].fetch_add(1, Ordering::Relaxed);
                })
            });
        }
    });
    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 4));
    let said = team::run(4, 1000, &|chunk| assert!(chunk != 10, "chunk {chunk}"));
    assert_eq!(said.unwrap_err(), "chunk 10");
    assert_eq!(team::run(4, 0, &|_| panic!("no chunk")), Ok(()));
}

#[test]
fn a_kernel_covers_its_indices_once() {
    unsafe fn run(args: *const u8, start: usize, end: usize) {
        // SAFETY: the arguments that are packed below.
        let (counts, single) = unsafe { args.cast::<(&'static [AtomicUsize], bool)>().read() };
        assert!(!single || (start, end) == (0, counts.len()));
        assert!(start < end);
        for count in &counts[start..end] {
            for _ in 0..50 {
                std::hint::black_box(count);
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
    let core = Core::spawn(3, None).unwrap();
    for threads in [0, 1, 31, 32, 33, 1000, 20_001] {
        for single in [false, true] {
            let counts: &'static [AtomicUsize] = Vec::leak((0..threads).map(|_| AtomicUsize::new(0)).collect());
            let args = Packed::new((counts, single));
            core.enqueue(WHAT, Op::Launch(CpuLaunch { run, args, threads, single, kernel: "test" })).unwrap();
            settled(&core).unwrap();
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{threads} threads");
        }
    }
    core.close();
}

#[test]
fn fills_and_copies_of_every_size() {
    let sizes = [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33, 64, 128, 160];
    for size in sizes {
        for count in [0, 1, 2, 3, 100, 5000, (3 << 20) / size + 7] {
            if cfg!(miri) && count > 100 {
                continue;
            }
            for plain in [false, true] {
                let pattern: Vec<u8> = (0..size).map(|at| if plain { 9 } else { at as u8 + 1 }).collect();
                let mut filled = vec![0; size * count + 1];
                // SAFETY: both are long enough.
                unsafe { memory::fill(filled.as_mut_ptr(), pattern.as_ptr(), size, count, 2) };
                assert!(filled[..size * count].chunks(size).all(|element| element == pattern), "{size} * {count}");
                assert_eq!(filled[size * count], 0);
                let mut copied = vec![0; filled.len()];
                // SAFETY: both have this length.
                unsafe { memory::copy(copied.as_mut_ptr(), filled.as_ptr(), filled.len(), 2) };
                assert_eq!(copied, filled);
            }
        }
    }
}
