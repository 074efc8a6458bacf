//! The queue, the gate and the parking list under every interleaving that loom finds.
//!
//! The files of the library are compiled in here over loom's atomics, locks and cells. Each test says which change to
//! the mechanism it must catch; each of those was tried.

#![allow(dead_code, unreachable_pub, clippy::pedantic)]

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;

    pub(crate) const ZEROED_IS_NEW: bool = false;

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(loom::cell::UnsafeCell::new(value))
        }

        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            self.0.with_mut(f)
        }
    }
}

mod cpu {
    pub(crate) use super::sync;
}

#[path = "../../runtime/src/cpu/gate.rs"]
mod gate;
#[path = "../../runtime/src/parking.rs"]
mod parking;
#[path = "../../runtime/src/cpu/queue.rs"]
mod queue;

use gate::Gate;
use loom::sync::Arc;
use loom::thread;
use parking::Parking;
use queue::Queue;
use sync::{AtomicU64, AtomicUsize, Ordering, fence};

/// Explores all interleavings with up to three forced switches between threads: more find nothing more here, and take
/// minutes.
fn explore(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.max_branches = 20_000;
    model.check(f);
}

/// Puts in, and lets others go on while the queue is full.
fn push<const CAPACITY: usize>(queue: &Queue<Box<u32>, CAPACITY>, value: u32) -> u64 {
    loop {
        if let Some(claim) = queue.claim() {
            return claim.publish(|| Box::new(value));
        }
        thread::yield_now();
    }
}

/// Takes out, and lets others go on while there is nothing.
fn pop<const CAPACITY: usize>(queue: &Queue<Box<u32>, CAPACITY>) -> (u64, u32) {
    loop {
        // SAFETY: in each model one thread calls this, and the item is dropped before the next call.
        if let Some(mut front) = unsafe { queue.front() } {
            return (front.number(), front.with(|value| **value));
        }
        thread::yield_now();
    }
}

/// Fails if `publish` or `is_published` is `Relaxed` (the value races, and loom says so), or if `claim` takes a position
/// with a load and a store instead of one exchange.
#[test]
fn two_producers_lose_nothing_and_keep_their_orders() {
    explore(|| {
        let queue = Arc::new(Queue::<Box<u32>, 4>::new());
        let producers = [&[10, 11][..], &[20][..]].map(|values| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let numbers: Vec<_> = values.iter().map(|value| push(&queue, *value)).collect();
                assert!(numbers.is_sorted());
            })
        });
        let mut taken = vec![pop(&queue)];
        for producer in producers {
            producer.join().unwrap();
        }
        taken.extend([pop(&queue), pop(&queue)]);
        let numbers: Vec<_> = taken.iter().map(|item| item.0).collect();
        let of = |tens| taken.iter().map(|item| item.1).filter(|value| value / 10 == tens).collect::<Vec<_>>();
        assert_eq!((numbers, of(1), of(2)), (vec![1, 2, 3], vec![10, 11], vec![20]));
        assert_eq!(queue.tail(), 3);
    });
}

/// Fails if the turn that `Front` stores when it is dropped, or the one that `claim` loads, is `Relaxed`: the next lap's
/// write then races with the last one's read.
#[test]
fn a_full_queue_hands_its_slots_from_lap_to_lap() {
    explore(|| {
        let queue = Arc::new(Queue::<Box<u32>, 2>::new());
        let producer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || (1..=4).for_each(|value| assert_eq!(push(&queue, value), u64::from(value))))
        };
        for value in 1..=4 {
            assert_eq!(pop(&queue), (u64::from(value), value));
        }
        producer.join().unwrap();
    });
}

/// Fails if `pass` stores the head with `Relaxed`, or `front` loads it so: what was done in the passed position then races
/// with what the consumer does next. Fails too if `claim_behind` takes any other position than the one behind `at`.
#[test]
fn a_position_is_passed_in_the_consumers_stead() {
    struct Shared {
        queue: Queue<Box<u32>, 2>,
        memory: sync::UnsafeCell<u32>,
    }
    // SAFETY: loom checks the accesses to the cell.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    explore(|| {
        let shared = Arc::new(Shared { queue: Queue::new(), memory: sync::UnsafeCell::new(0) });
        let consumer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (number, value) = pop(&shared.queue);
                // SAFETY: loom sees whether others use it at the same time.
                let seen = shared.memory.with_mut(|memory| unsafe { *memory });
                assert_eq!((value, seen), (7, if number == 2 { 5 } else { 0 }));
            })
        };
        let producer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || push(&shared.queue, 7))
        };
        if let Some(claim) = shared.queue.claim_behind(0) {
            // SAFETY: as above.
            shared.memory.with_mut(|memory| unsafe { *memory = 5 });
            // SAFETY: nothing is before the first position.
            unsafe { shared.queue.pass(claim) };
        }
        assert!(shared.queue.claim_behind(7).is_none());
        consumer.join().unwrap();
        producer.join().unwrap();
    });
}

/// A stream as far as `Core::run_here` goes. How far it is lies under a lock here: where no store of two comes before the
/// other, loom lets a later load see either of them.
struct Passing {
    queue: Queue<Box<u32>, 2>,
    done: sync::Mutex<u64>,
}

impl Passing {
    fn new() -> Arc<Passing> {
        Arc::new(Passing { queue: Queue::new(), done: sync::Mutex::new(0) })
    }

    fn done(&self) -> u64 {
        *sync::lock(&self.done)
    }

    fn here(&self) -> bool {
        let Some(claim) = self.queue.claim_behind(self.done()) else { return false };
        let number = claim.number();
        // SAFETY: everything before it has been passed, by `done`.
        unsafe { self.queue.pass(claim) };
        let mut done = sync::lock(&self.done);
        *done = number.max(*done);
        true
    }
}

/// Fails if `here` stores `done` instead of raising it: the worker may have gone on from `pass` already.
#[test]
fn what_the_worker_has_passed_stays_passed() {
    explore(|| {
        let stream = Passing::new();
        let worker = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || {
                let (number, _) = pop(&stream.queue);
                *sync::lock(&stream.done) = number;
            })
        };
        let producer = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || push(&stream.queue, 7))
        };
        stream.here();
        worker.join().unwrap();
        producer.join().unwrap();
        assert_eq!(stream.done(), stream.queue.tail());
    });
}

/// Fails if `here` raises `done` before `pass`: the next one's `pass` may then come first, and the head goes back.
#[test]
fn two_threads_pass_positions_one_behind_the_other() {
    explore(|| {
        let stream = Passing::new();
        let other = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || u64::from(stream.here()))
        };
        let passed = u64::from(stream.here()) + other.join().unwrap();
        assert_eq!((stream.done(), stream.queue.tail()), (passed, passed));
        push(&stream.queue, 7);
        // SAFETY: this is the one thread that takes items out.
        assert!(unsafe { stream.queue.front() }.is_some_and(|front| front.number() == passed + 1));
    });
}

/// Fails if a producer that finds the queue full keeps its place: let `claim` count the tail up first.
#[test]
fn two_producers_compete_for_the_room_in_a_full_queue() {
    explore(|| {
        let queue = Arc::new(Queue::<Box<u32>, 1>::new());
        push(&queue, 1);
        let producer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || push(&queue, 2))
        };
        assert_eq!(pop(&queue), (1, 1));
        if let Some(claim) = queue.claim() {
            let ours = claim.publish(|| Box::new(3));
            assert_eq!(pop(&queue).0, 2);
            assert_eq!(pop(&queue).0, 3);
            assert_eq!(ours + producer.join().unwrap(), 5);
        } else {
            assert_eq!(pop(&queue), (2, 2));
            assert_eq!(producer.join().unwrap(), 2);
        }
    });
}

/// Fails if `claim` says that a queue is full when it is not, or the reverse: let `turn_of` count one turn a lap, or
/// let `claim` answer `None` where `turn` is `Greater`.
#[test]
fn a_full_queue_refuses_until_one_is_taken_out() {
    explore(|| {
        let queue = Arc::new(Queue::<Box<u32>, 2>::new());
        let other = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || queue.claim().expect("room for both").publish(|| Box::new(1)))
        };
        queue.claim().expect("room for both").publish(|| Box::new(2));
        other.join().unwrap();
        assert!(queue.claim().is_none(), "full");
        let taker = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || pop(&queue).0)
        };
        assert_eq!(push(&queue, 3), 3, "room again");
        assert!(queue.claim().is_none(), "full");
        assert_eq!(taker.join().unwrap(), 1);
    });
}

/// Fails if items that are still in the queue at its end are forgotten (loom counts allocations of `Arc`): leave out
/// `Drop for Queue`.
#[test]
fn what_is_left_in_a_queue_is_dropped_with_it() {
    loom::model(|| {
        let queue = Queue::<Arc<()>, 2>::new();
        let item = Arc::new(());
        queue.claim().unwrap().publish(|| Arc::clone(&item));
        drop(queue);
        assert_eq!(Arc::strong_count(&item), 1);
    });
}

/// Fails (as a deadlock) without the fence in `sleep` or the one in `notify`, if `ring` does not take the lock, or if a
/// sleeper that was woken too early does not say again what it wants.
#[test]
fn no_wake_up_is_lost() {
    explore(|| {
        let shared = Arc::new((AtomicU64::new(0), Gate::new()));
        let sleepers = [1, 2].map(|number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (done, gate) = &*shared;
                gate.sleep(number, || done.load(Ordering::Acquire) >= number);
            })
        });
        let (done, gate) = &*shared;
        for number in [1, 2] {
            done.store(number, Ordering::Release);
            gate.notify(number);
        }
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}

/// As above, with the queue: the way from an enqueue to a worker that goes to sleep. Fails without either fence.
#[test]
fn a_worker_that_falls_asleep_sees_what_is_published() {
    explore(|| {
        let shared = Arc::new((Queue::<Box<u32>, 2>::new(), Gate::new()));
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (queue, gate) = &*shared;
                for value in [1, 2] {
                    gate.sleep(0, || queue.is_ready());
                    assert_eq!(pop(queue), (u64::from(value), value));
                }
            })
        };
        let (queue, gate) = &*shared;
        for value in [1, 2] {
            push(queue, value);
            gate.notify(0);
        }
        worker.join().unwrap();
    });
}

/// A stream as far as parking goes: how far it is, and what waits for that.
struct Stream {
    done: AtomicU64,
    passed: Gate,
    parking: Parking<Count>,
}

/// One parked count: notes that it is dropped, and whether its mark had been passed by then.
struct Count {
    mark: u64,
    stream: Arc<Stream>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Count {
    fn drop(&mut self) {
        assert!(self.stream.done.load(Ordering::Relaxed) >= self.mark, "dropped before its mark was passed");
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

impl Stream {
    fn new() -> Arc<Stream> {
        Arc::new(Stream { done: AtomicU64::new(0), passed: Gate::new(), parking: Parking::new() })
    }

    /// What the worker does behind each operation.
    fn pass(&self, number: u64) {
        self.done.store(number, Ordering::Release);
        self.passed.notify(number);
        if self.parking.has_passed(number) {
            self.parking.sweep(number);
        }
    }

    /// `Core::park`.
    fn park(this: &Arc<Stream>, mark: u64, drops: &Arc<AtomicUsize>) {
        this.parking.push(mark, Count { mark, stream: Arc::clone(this), drops: Arc::clone(drops) });
        fence(Ordering::SeqCst);
        let done = this.done.load(Ordering::Acquire);
        if done >= mark {
            this.parking.sweep(done);
        }
    }

    /// `Core::wait`.
    fn wait(&self, number: u64) {
        self.passed.sleep(number, || self.done.load(Ordering::Acquire) >= number);
        if !self.parking.is_empty() {
            self.parking.sweep(self.done.load(Ordering::Acquire));
        }
    }
}

/// Fails (a count is stranded) without the fence in `Gate::notify` or in `park`, or if `park` does not look again.
/// Fails (dropped too early) if `sweep` does not compare marks.
#[test]
fn a_count_parked_while_its_mark_is_passed_is_dropped_once() {
    explore(|| {
        let stream = Stream::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let worker = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || stream.pass(1))
        };
        Stream::park(&stream, 1, &drops);
        worker.join().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert!(stream.parking.is_empty());
    });
}

/// Fails if `push` puts every count at the end: mark 1 is then stranded behind mark 2, or dropped with it.
#[test]
fn counts_out_of_the_order_of_their_marks_do_not_hide_each_other() {
    explore(|| {
        let stream = Stream::new();
        let early = Arc::new(AtomicUsize::new(0));
        let late = Arc::new(AtomicUsize::new(0));
        let other = {
            let (stream, late) = (Arc::clone(&stream), Arc::clone(&late));
            thread::spawn(move || Stream::park(&stream, 2, &late))
        };
        let worker = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || stream.pass(1))
        };
        Stream::park(&stream, 1, &early);
        other.join().unwrap();
        worker.join().unwrap();
        assert_eq!((early.load(Ordering::Relaxed), late.load(Ordering::Relaxed)), (1, 0));
        stream.pass(2);
        assert_eq!(late.load(Ordering::Relaxed), 1);
    });
}

/// Fails if `sweep` does not hold `sweeping`, or if `held` falls before the drop: the worker may have taken the count
/// out and not dropped it yet when the wait returns.
#[test]
fn a_wait_returns_after_what_it_covers_has_been_dropped() {
    explore(|| {
        let stream = Stream::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let worker = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || stream.pass(1))
        };
        Stream::park(&stream, 1, &drops);
        stream.wait(1);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        worker.join().unwrap();
    });
}
