//! Invariant 9: drops, and values that are never dropped.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::thread;

use escrow::{Device, DeviceBuffer, DeviceContext, HostBuffer, InFlight};
use escrow_tests::{hold, on_worker};

use super::{LEN, cpu, overwrite_what_is_free};

/// 9: drops neither wait nor use the queue: here it is full, behind work that stands still.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` synchronizes with its stream, or enqueues anything. The test then
/// never ends.
#[test]
fn drops_do_not_wait_when_the_queue_is_full() {
    const CAPACITY: usize = 1024;
    let ctx = cpu();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let second = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap().into_shared().unwrap();
    let host = ctx.create_host_buffer::<u32>(LEN).unwrap();
    let shared = ctx.create_host_buffer::<u32>(LEN).unwrap().into_shared();
    let uploaded = ctx.enqueue_create_buffer_from(&shared).unwrap();
    let idle = ctx.create_host_buffer::<u32>(LEN).unwrap();
    ctx.synchronize(()).unwrap();
    let held = hold(&ctx).unwrap();
    held.reached();
    let flight = dev.enqueue_copy_to(host).unwrap();
    // The hold is out of the queue's way only when it is over: it holds its slot.
    for _ in 0..CAPACITY - 2 {
        dev.enqueue_fill(1).unwrap();
    }
    let recorded = ctx.record(flight).unwrap();
    drop((recorded, second, shared, uploaded, idle, dev));
    let raw = ctx.enqueue_create_buffer::<u32>(LEN).unwrap();
    drop(raw);
    drop(ctx.clone());
    drop(ctx);
    held.release();
}

/// An enqueuer that finds the queue full waits for room, and for nothing else: here the stream stands still again behind
/// the one operation that makes room.
///
/// Broken on purpose: in `cpu/core.rs`, `claim_slowly` waits for the whole queue: the test then never ends.
#[test]
fn a_full_queue_takes_more_when_there_is_room() {
    const CAPACITY: u32 = 1024;
    let ctx = cpu();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(1).unwrap();
    let (first, second) = (hold(&ctx).unwrap(), hold(&ctx).unwrap());
    first.reached();
    for i in 0..CAPACITY - 2 {
        dev.enqueue_fill(i).unwrap();
    }
    let dev = thread::scope(|s| {
        let enqueuer = s.spawn(move || {
            dev.enqueue_fill(CAPACITY).unwrap();
            dev
        });
        // Time for the other thread to find the queue full; if it comes later, it finds room.
        (0..2000).for_each(|_| thread::yield_now());
        first.release();
        enqueuer.join().unwrap()
    });
    second.release();
    assert_eq!(dev.to_vec().unwrap(), [CAPACITY]);
}

/// Threads that fill one queue many times over all come through.
///
/// Broken on purpose: in `cpu/queue.rs`, `claim` takes a slot one lap too early: values are then lost.
#[test]
fn threads_share_a_full_queue() {
    let ctx = cpu();
    let held = hold(&ctx).unwrap();
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let mut own = ctx.enqueue_create_buffer_zeroed::<u32>(1).unwrap();
                for i in 0..5000 {
                    own.enqueue_fill(i).unwrap();
                }
                assert_eq!(own.to_vec().unwrap(), [4999]);
            });
        }
        held.release();
    });
}

/// 9: drops are allowed on workers, that of the last handle too.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` panics on a worker; or in `stream.rs`, `Drop` waits for the
/// stream (the test then never ends).
#[test]
fn everything_can_be_dropped_in_a_kernel_body() {
    for device in [Device::cpu(), Device::cpu_chaos(6)] {
        let ctx = DeviceContext::new(device).unwrap();
        let watch = ctx.fork().unwrap();
        let host = ctx.create_host_buffer::<u32>(LEN).unwrap();
        let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
        let recorded = ctx.record(ctx.create_host_buffer::<u8>(3).unwrap().enqueue_fill(1).unwrap()).unwrap();
        let shared = ctx.enqueue_create_buffer_zeroed::<u8>(3).unwrap().into_shared().unwrap();
        let there = shared.share_with(&watch).unwrap();
        let idle = ctx.create_host_buffer::<u32>(LEN).unwrap();
        let (tell, told) = channel();
        let last = ctx.clone();
        on_worker(&ctx, move || {
            let dropped = catch_unwind(AssertUnwindSafe(|| {
                drop((dev, flight, recorded, shared, there, idle));
                drop(last);
            }));
            tell.send(dropped.is_ok()).unwrap();
        })
        .unwrap();
        // A point, and no handle: the body drops the last one.
        let end = ctx.record(()).unwrap();
        drop(ctx);
        end.wait().unwrap();
        assert_eq!(told.recv(), Ok(true));
        watch.synchronize(()).unwrap();
    }
}

/// 9: while unwinding, on another thread, in any order.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` panics while a thread is panicking: the process aborts.
#[test]
fn values_are_dropped_by_unwinding_and_by_other_threads() {
    let ctx = cpu();
    let values = || {
        let host = ctx.create_host_buffer_from(&[1u32; LEN]).unwrap();
        let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
        let copy = ctx.create_host_buffer::<u32>(LEN).unwrap();
        let recorded = ctx.record(dev.enqueue_copy_to(copy).unwrap()).unwrap();
        (dev, flight, recorded)
    };
    let held = hold(&ctx).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _values = values();
        resume_unwind(Box::new(7u8));
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&7u8));
    let (dev, flight, recorded) = values();
    thread::spawn(move || drop(recorded)).join().unwrap();
    thread::spawn(move || drop(dev)).join().unwrap();
    overwrite_what_is_free(&ctx);
    held.release();
    assert_eq!(ctx.synchronize(flight).unwrap()[..], [1; LEN]);
}

/// What is forgotten, or caught in a cycle, leaks: nothing else gets its memory, and its stream goes on.
///
/// Broken on purpose: in `handoff.rs`, `wait.rs` or `scope.rs`, anything that gives memory back from a value's `Drop`
/// only; here: `flight.rs`, `InFlight` lends its memory and a guard's drop would end the loan.
#[test]
fn forgotten_values_leak() {
    struct Cycle {
        own: RefCell<Option<Rc<Cycle>>>,
        _dev: DeviceBuffer<u32>,
        _flight: InFlight<HostBuffer<u32>>,
    }
    let ctx = cpu();
    let held = hold(&ctx).unwrap();
    let mut addresses = Vec::new();
    for _ in 0..4 {
        let host = ctx.create_host_buffer_from(&[1u32; LEN]).unwrap();
        addresses.push(host.as_ptr().addr());
        let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
        let cycle = Rc::new(Cycle { own: RefCell::default(), _dev: dev, _flight: flight });
        *cycle.own.borrow_mut() = Some(Rc::clone(&cycle));
        let host = ctx.create_host_buffer_from(&[1u32; LEN]).unwrap();
        addresses.push(host.as_ptr().addr());
        let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
        std::mem::forget((ctx.record(flight).unwrap(), dev.into_shared().unwrap()));
        let host = ctx.create_host_buffer::<u32>(LEN).unwrap();
        addresses.push(host.as_ptr().addr());
        std::mem::forget(host);
        std::mem::forget(ctx.clone());
    }
    held.release();
    ctx.synchronize(()).unwrap();
    let others: Vec<_> = (0..40).map(|_| ctx.create_host_buffer::<u32>(LEN).unwrap()).collect();
    assert!(others.iter().all(|host| !addresses.contains(&host.as_ptr().addr())));
}

thread_local! {
    static KEPT: RefCell<Vec<(DeviceContext, InFlight<HostBuffer<u32>>, DeviceBuffer<u32>)>> =
        const { RefCell::new(Vec::new()) };
}

/// 9: values in thread-locals are dropped at the thread's end, when other thread-locals may be gone already.
///
/// Broken on purpose: in `cpu/mod.rs`, `is_worker` panics where its thread-local is gone, and that has a destructor.
#[test]
fn values_in_thread_locals_are_dropped_at_the_end_of_their_thread() {
    let watch = cpu();
    for device in [Device::cpu(), Device::cpu_chaos(8)] {
        let held = hold(&watch).unwrap();
        thread::spawn(move || {
            // Touched first, so that it is destroyed last, or the other way round: both orders are legal.
            KEPT.with_borrow_mut(|kept| {
                let ctx = DeviceContext::new(device).unwrap();
                let host = ctx.create_host_buffer_from(&[1u32; LEN]).unwrap();
                let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
                kept.push((ctx, flight, dev));
            });
        })
        .join()
        .unwrap();
        held.release();
    }
    watch.synchronize(()).unwrap();
}
