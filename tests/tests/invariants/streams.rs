//! Invariants 1 to 4: streams and device memory.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;

use escrow::{Device, DeviceContext, Error, Fault, HostBuffer, SharedDeviceBuffer};
use escrow_tests::{enqueue_mix, hold, on_worker};

use super::{LEN, cpu, overwrite_what_is_free};

/// 1: device memory is freed behind its last use on its stream.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` drops the block instead of parking it.
#[test]
fn dropped_device_memory_outlives_pending_reads() {
    let ctx = cpu();
    let dev = ctx.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(7).unwrap();
    let host = ctx.create_host_buffer::<u32>(LEN).unwrap();
    let held = hold(&ctx).unwrap();
    let flight = dev.enqueue_copy_to(host).unwrap();
    drop(dev);
    overwrite_what_is_free(&ctx);
    held.release();
    assert_eq!(ctx.synchronize(flight).unwrap()[..], [7; LEN]);
}

/// 1: handed off and dropped there, it outlives what the first stream still does with it.
///
/// Broken on purpose: in `stream.rs`, `wait_for` returns `Ok(())` and enqueues nothing.
#[test]
fn memory_dropped_after_a_handoff_outlives_both_streams() {
    let (a, b) = (cpu(), cpu());
    let mut dev = a.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let held = hold(&a).unwrap();
    dev.enqueue_fill(3).unwrap();
    let host = dev.enqueue_copy_to(a.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
    drop(a.handoff(dev, &b).unwrap());
    overwrite_what_is_free(&a);
    held.release();
    assert_eq!(a.synchronize(host).unwrap()[..], [3; LEN]);
}

/// 2: a handoff is an edge: the second stream does nothing before the first has come so far.
///
/// Broken on purpose: as above; or in `context.rs`, `handoff` takes the event of `to`'s stream.
#[test]
fn handoff_orders_streams() {
    let (a, b) = (cpu(), cpu());
    let mut dev = a.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let held = hold(&a).unwrap();
    held.reached();
    dev.enqueue_fill(5).unwrap();
    let dev = a.handoff(dev, &b).unwrap();
    let host = b.create_host_buffer::<u32>(LEN).unwrap();
    let recorded = b.record(dev.enqueue_copy_to(host).unwrap()).unwrap();
    assert!(!recorded.is_finished().unwrap());
    held.release();
    assert_eq!(recorded.wait().unwrap()[..], [5; LEN]);
}

/// 2: every operation compares streams before anything else; a refused call enqueues nothing and changes nothing.
///
/// Broken on purpose: in `region.rs`, `admit` does not compare; or one of the `is_on` of `wait.rs` and `handoff.rs`
/// returns true.
#[test]
fn every_operation_compares_streams() {
    let (a, b) = (cpu(), cpu());
    let wrong = |error: &Error| assert!(matches!(error, Error::WrongStream { .. }), "{error}");
    let mut mine = a.enqueue_create_buffer_zeroed::<u32>(8).unwrap();
    let mut theirs = b.enqueue_create_buffer_zeroed::<u32>(8).unwrap();
    theirs.enqueue_fill(9).unwrap();
    b.synchronize(()).unwrap();
    // Had a refused call enqueued something, it would wait here.
    let (hold_a, hold_b) = (hold(&a).unwrap(), hold(&b).unwrap());

    wrong(&mine.enqueue_copy_from(&theirs).unwrap_err().error);
    wrong(&mine.enqueue_copy_from(theirs.as_span()).unwrap_err().error);
    wrong(&mine.enqueue_copy_to(&mut theirs).unwrap_err().error);
    wrong(&mine.enqueue_copy_to(theirs.as_span_mut()).unwrap_err().error);
    wrong(&mine.as_span_mut().enqueue_copy_from(&theirs).unwrap_err().error);
    wrong(&a.enqueue_create_buffer_from(&theirs).unwrap_err().error);
    wrong(&a.enqueue_create_buffer::<u32>(8).unwrap().enqueue_copy_from(&theirs).unwrap_err().error);
    wrong(&enqueue_mix(&a, &mut mine, &theirs).unwrap_err());
    wrong(&enqueue_mix(&b, &mut mine, &theirs).unwrap_err());
    wrong(&enqueue_mix(&b, &mut theirs, &mine).unwrap_err());

    let flight = b.create_host_buffer_from(&[1u32; 8]).unwrap().enqueue_fill(2).unwrap();
    let Err(Fault { error, value: flight }) = mine.enqueue_copy_from(flight) else { panic!("a flight as source") };
    wrong(&error);
    let Err(Fault { error, value: flight }) = mine.enqueue_copy_to(flight) else { panic!("a flight as destination") };
    wrong(&error);
    let Err(Fault { error, value: flight }) = flight.enqueue_copy_to(&mut mine) else { panic!("a receiver in flight") };
    wrong(&error);
    let Err(Fault { error, value: flight }) = a.synchronize(flight) else { panic!("a wait") };
    wrong(&error);
    let Err(Fault { error, value: flight }) = a.record(flight) else { panic!("a record") };
    wrong(&error);
    let Err(Fault { error, value: flight }) = a.handoff(flight, &b) else { panic!("a handoff") };
    wrong(&error);

    // Containers: every element is compared before anything happens.
    let own = |i: u32| a.create_host_buffer::<u32>(8).unwrap().enqueue_fill(i).unwrap();
    let Err(Fault { error, value }) = a.synchronize((vec![own(0), own(1), flight], ())) else {
        panic!("a stranger at the end of a list")
    };
    wrong(&error);
    let (mut flights, ()) = value;
    let flight = flights.pop().unwrap();
    let Err(Fault { error, value }) = a.record([Some(flights.remove(0)), Some(flight), None]) else {
        panic!("an array")
    };
    wrong(&error);
    let [Some(first), Some(flight), None] = value else { panic!("another value") };
    let Err(Fault { error, value }) = a.handoff((first, (mine, vec![theirs])), &b) else { panic!("a nested tuple") };
    wrong(&error);
    let (first, (mine, mut theirs)) = value;
    drop((hold_a, hold_b));
    assert_eq!(a.synchronize(first).unwrap()[..], [0; 8]);
    assert_eq!(b.synchronize(flight).unwrap()[..], [2; 8]);
    assert_eq!((mine.to_vec().unwrap(), theirs.pop().unwrap().to_vec().unwrap()), (vec![0; 8], vec![9; 8]));
}

/// 2: a shared reader is of its stream, as everything else.
///
/// Broken on purpose: in `region.rs`, `admit` does not compare.
#[test]
fn shared_readers_are_compared_too() {
    let (a, b) = (cpu(), cpu());
    let shared = a.enqueue_create_buffer_zeroed::<u32>(4).unwrap().into_shared().unwrap();
    let there = shared.share_with(&b).unwrap();
    let mut dev = b.enqueue_create_buffer_zeroed::<u32>(4).unwrap();
    assert!(matches!(dev.enqueue_copy_from(&shared), Err(Fault { error: Error::WrongStream { .. }, .. })));
    assert!(matches!(shared.enqueue_copy_to(&mut dev), Err(Fault { error: Error::WrongStream { .. }, .. })));
    dev.enqueue_copy_from(&there).unwrap();
    assert_eq!(dev.to_vec().unwrap(), [0; 4]);
}

/// 2: `on` takes home whatever `f` left, from the stream that it is on.
///
/// Broken on purpose: in `device_buffer.rs`, `on` uses `ctx.handoff(there, &home)` in place of
/// `there.reassign_ownership_to(&home)`: the swapped buffer is then lost. Or it takes the event of `ctx`: the read below
/// comes before the fill.
#[test]
fn a_buffer_that_was_swapped_in_comes_home_in_order() {
    let (home, guest, third) = (cpu(), cpu(), cpu());
    let mut dev = home.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let mut swapped = third.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let held = hold(&third).unwrap();
    swapped.enqueue_fill(4).unwrap();
    dev.on(&guest, |dev| {
        std::mem::swap(dev, &mut swapped);
        Ok(())
    })
    .unwrap();
    let flight = dev.enqueue_copy_to(home.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
    let recorded = home.record(flight).unwrap();
    assert!(!recorded.is_finished().unwrap());
    held.release();
    assert_eq!(recorded.wait().unwrap()[..], [4; LEN]);
    assert_eq!(swapped.to_vec().unwrap(), [0; LEN]); // on `guest` now
}

/// 2: a foreign buffer does not get into a field of another device.
///
/// Broken on purpose: in `context.rs`, `handoff` does not compare the devices.
#[test]
fn a_buffer_of_another_device_is_not_taken_home() {
    let (home, guest) = (cpu(), cpu());
    let far = DeviceContext::new(Device::cpu_chaos(1)).unwrap();
    let mut dev = home.enqueue_create_buffer_zeroed::<u32>(3).unwrap();
    let mut other = far.enqueue_create_buffer_zeroed::<u32>(5).unwrap();
    let done = dev.on(&guest, |dev| {
        std::mem::swap(dev, &mut other);
        Ok(())
    });
    assert!(matches!(done, Err(Error::WrongDevice { .. })));
    assert_eq!((dev.len(), other.len()), (0, 3));
    dev.enqueue_fill(1).unwrap();
    assert_eq!(other.to_vec().unwrap(), [0; 3]);
}

/// 2: back also when `f` fails or panics, with an edge.
///
/// Broken on purpose: in `device_buffer.rs`, `on` calls `f` without `catch_unwind`.
#[test]
fn a_lent_buffer_comes_back_from_errors_and_panics() {
    let (home, guest) = (cpu(), cpu());
    let mut dev = home.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let held = hold(&guest).unwrap();
    let failed: Result<(), Error> = dev.on(&guest, |dev| {
        dev.enqueue_fill(1)?;
        Err(Error::EmptyChunk)
    });
    assert!(matches!(failed, Err(Error::EmptyChunk)));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _: Result<(), Error> = dev.on(&guest, |dev| {
            dev.enqueue_fill(2).unwrap();
            std::panic::resume_unwind(Box::new(()))
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(dev.len(), LEN);
    let recorded = home.record(dev.enqueue_copy_to(home.create_host_buffer::<u32>(LEN).unwrap()).unwrap()).unwrap();
    assert!(!recorded.is_finished().unwrap());
    held.release();
    assert_eq!(recorded.wait().unwrap()[..], [2; LEN]);
}

/// 3: whoever unshares comes behind the reads of handles that are gone.
///
/// Broken on purpose: in `block.rs`, `end_handle` does not push the event; or `with_ends` does not call `f`.
#[test]
fn unsharing_waits_for_readers_that_are_gone() {
    let (a, b) = (cpu(), cpu());
    let shared = a.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(7).unwrap().into_shared().unwrap();
    let there = shared.share_with(&b).unwrap();
    let held = hold(&b).unwrap();
    let flight = there.enqueue_copy_to(b.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
    drop(there);
    let mut dev = shared.try_unshare().unwrap();
    dev.enqueue_fill(8).unwrap();
    let recorded = a.record(()).unwrap();
    assert!(!recorded.is_finished().unwrap());
    held.release();
    recorded.wait().unwrap();
    assert_eq!(b.synchronize(flight).unwrap()[..], [7; LEN]);
    assert_eq!(dev.to_vec().unwrap(), [8; LEN]);
}

/// 3: a shared block is freed when the last stream has passed its reads, whichever handle goes last.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` drops the block instead of parking it.
#[test]
fn the_last_handle_frees_behind_all_reads() {
    let (a, b) = (cpu(), cpu());
    for reader_first in [true, false] {
        let shared = a.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(7).unwrap().into_shared().unwrap();
        let there = shared.share_with(&b).unwrap();
        let held = hold(&b).unwrap();
        let flight = there.enqueue_copy_to(b.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
        if reader_first {
            drop(there);
            drop(shared);
        } else {
            drop(shared);
            drop(there);
        }
        a.synchronize(()).unwrap();
        overwrite_what_is_free(&a);
        held.release();
        assert_eq!(b.synchronize(flight).unwrap()[..], [7; LEN]);
    }
}

/// 3: a new reader comes behind what the first stream wrote.
///
/// Broken on purpose: in `shared_device.rs`, `share_with` enqueues no wait.
#[test]
fn a_new_reader_comes_behind_the_writes() {
    let (a, b) = (cpu(), cpu());
    let mut dev = a.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let held = hold(&a).unwrap();
    dev.enqueue_fill(6).unwrap();
    let shared = dev.into_shared().unwrap();
    let there = shared.share_with(&b).unwrap();
    let recorded = b.record(there.enqueue_copy_to(b.create_host_buffer::<u32>(LEN).unwrap()).unwrap()).unwrap();
    assert!(!recorded.is_finished().unwrap());
    held.release();
    assert_eq!(recorded.wait().unwrap()[..], [6; LEN]);
}

/// 3: a handle that was forgotten is held for good.
///
/// Broken on purpose: in `shared_device.rs`, `try_unshare` does not look at the handles.
#[test]
fn a_forgotten_reader_keeps_the_memory_shared() {
    let (a, b) = (cpu(), cpu());
    let shared = a.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap().into_shared().unwrap();
    std::mem::forget(shared.share_with(&b).unwrap());
    a.synchronize(()).unwrap();
    b.synchronize(()).unwrap();
    let Err(Fault { error: Error::StillShared { holders: 2 }, value }) = shared.try_unshare() else {
        panic!("unshared")
    };
    assert_eq!(value.to_vec().unwrap(), [0; LEN]);
}

/// 3: of all threads that unshare at once, exactly one gets the memory, after the others' reads.
///
/// Broken on purpose: in `shared_device.rs`, `try_unshare` accepts two handles.
#[test]
fn one_thread_unshares() {
    const THREADS: usize = 4;
    for round in 0..40u32 {
        let first = cpu();
        let shared =
            first.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(round).unwrap().into_shared().unwrap();
        let handles: Vec<SharedDeviceBuffer<u32>> = (0..THREADS).map(|_| shared.share_with(&cpu()).unwrap()).collect();
        drop(shared);
        let barrier = Barrier::new(THREADS);
        let got: Vec<bool> = thread::scope(|s| {
            let threads: Vec<_> = handles
                .into_iter()
                .map(|handle| {
                    let barrier = &barrier;
                    s.spawn(move || {
                        let ctx = handle.context().clone();
                        barrier.wait();
                        let copy = handle.enqueue_copy_to(ctx.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
                        let got = match handle.try_unshare() {
                            Ok(mut dev) => {
                                dev.enqueue_fill(!round).unwrap();
                                assert_eq!(dev.to_vec().unwrap(), [!round; LEN]);
                                true
                            }
                            Err(Fault { error, .. }) => {
                                assert!(matches!(error, Error::StillShared { .. }));
                                false
                            }
                        };
                        // Nobody wrote before this read.
                        assert_eq!(ctx.synchronize(copy).unwrap()[..], [round; LEN]);
                        got
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(got.iter().filter(|got| **got).count() <= 1, "{got:?}");
    }
}

/// The same for host memory, where whoever comes last must get it: the others are gone and their reads waited for.
///
/// Broken on purpose: in `block.rs`, `BlockRef::clone` counts nothing.
#[test]
fn one_thread_unshares_host_memory() {
    const THREADS: usize = 4;
    for round in 0..40u32 {
        let shared = cpu().create_host_buffer_from(&[round; LEN]).unwrap().into_shared();
        let barrier = Barrier::new(THREADS);
        let handles: Vec<_> = (0..THREADS).map(|_| shared.clone()).collect();
        drop(shared);
        let got: Vec<Option<HostBuffer<u32>>> = thread::scope(|s| {
            let threads: Vec<_> = handles
                .into_iter()
                .map(|handle| {
                    let barrier = &barrier;
                    s.spawn(move || {
                        let ctx = cpu();
                        barrier.wait();
                        let dev = ctx.enqueue_create_buffer_from(&handle).unwrap();
                        assert_eq!(dev.to_vec().unwrap(), [round; LEN]);
                        let mut host = handle.try_unshare().ok()?;
                        host.fill(!round);
                        Some(host)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let got: Vec<_> = got.into_iter().flatten().collect();
        assert!(got.len() <= 1);
        assert!(got.iter().all(|host| host[..] == [!round; LEN]));
    }
}

/// 4: what was enqueued happens, also if every handle goes right after the call.
///
/// Broken on purpose: in `cpu/core.rs`, `await_work` looks whether the stream is closed before it looks for work: the test
/// then never ends.
#[test]
fn a_stream_without_handles_finishes_its_work() {
    let ctx = cpu();
    let (done, wait) = channel();
    let held = hold(&ctx).unwrap();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    dev.enqueue_fill(1).unwrap();
    for _ in 0..50 {
        let done = done.clone();
        on_worker(&ctx, move || done.send(()).unwrap()).unwrap();
    }
    drop((dev, ctx, done));
    held.release();
    assert_eq!(wait.iter().count(), 50);
}
