//! Invariants 5 to 7, 11 and 12: host memory.

use std::cell::RefCell;
use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::sync::mpsc::{Sender, channel};

use escrow::{Device, DeviceBuffer, DeviceContext, Error, Fault, HostBuffer, StreamTag};
use escrow_tests::{fail, hold, on_worker};

use super::{LEN, cpu, overwrite_what_is_free, released_meanwhile};

/// 5: memory in flight that is dropped stays with its stream.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` drops the block instead of parking it.
#[test]
fn dropped_flights_stay_with_their_stream() {
    let ctx = cpu();
    let held = hold(&ctx).unwrap();
    let address = {
        let flight = ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(1).unwrap();
        drop(ctx.record(flight).unwrap());
        let host = ctx.create_host_buffer::<u32>(LEN).unwrap();
        let address = host.as_ptr().addr();
        drop(host.enqueue_fill(2).unwrap());
        address
    };
    // The stream has yet to write it, so nobody may get it.
    let others: Vec<HostBuffer<u32>> = (0..8).map(|_| ctx.create_host_buffer_from(&[9; LEN]).unwrap()).collect();
    assert!(others.iter().all(|host| host.as_ptr().addr() != address));
    held.release();
    ctx.synchronize(()).unwrap();
    assert!(others.iter().all(|host| host[..] == [9; LEN]));
}

/// 5: a shared source is held until its upload is over, whatever becomes of its handles.
///
/// Broken on purpose: in `operand.rs`, `count` of `&SharedHostBuffer` returns `None`; or in `copy.rs`, `ParkAfter`
/// drops the count instead of parking it.
#[test]
fn a_shared_source_is_held_until_it_was_read() {
    let ctx = cpu();
    let shared = ctx.create_host_buffer_from(&[5u32; LEN]).unwrap().into_shared();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let held = hold(&ctx).unwrap();
    dev.enqueue_copy_from(&shared).unwrap();
    let Err(Fault { error: Error::StillShared { holders: 2 }, value }) = shared.try_unshare() else {
        panic!("made writable under an upload")
    };
    let part = value.create_sub_buffer::<u8>(4, 8).unwrap();
    drop(value);
    assert!(part.try_unshare().is_err());
    overwrite_what_is_free(&ctx);
    held.release();
    assert_eq!(dev.to_vec().unwrap(), [5; LEN]);
}

/// 5: what is parked is a block, not a value with a handle of its stream, so a stream without handles ends.
///
/// Broken on purpose: in `region.rs`, `Escrowed::drop` forgets its `ctx` (a parked value that kept it would too).
#[test]
fn parked_memory_does_not_keep_its_stream() {
    /// Says that its thread has ended.
    struct End(Sender<&'static str>);
    impl Drop for End {
        fn drop(&mut self) {
            let _ = self.0.send("ended");
        }
    }
    thread_local! {
        static END: RefCell<Option<End>> = const { RefCell::new(None) };
    }
    for device in [Device::cpu(), Device::cpu_chaos(2)] {
        let ctx = DeviceContext::new(device).unwrap();
        let (end, ended) = channel();
        on_worker(&ctx, || END.with_borrow_mut(|slot| *slot = Some(End(end)))).unwrap();
        let held = hold(&ctx).unwrap();
        drop(ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(1).unwrap());
        let shared = ctx.create_host_buffer::<u32>(LEN).unwrap().into_shared();
        drop(ctx.enqueue_create_buffer_from(&shared).unwrap().into_shared().unwrap());
        drop((shared, ctx));
        held.release();
        assert_eq!(ended.recv(), Ok("ended"));
    }
}

/// 6: a wait for an event gives back what the event covers, and nothing that was parked behind it.
///
/// Broken on purpose: in `cpu/core.rs`, `sweep_behind_wait` sweeps up to `u64::MAX`.
#[test]
fn a_wait_frees_what_it_covers_and_no_more() {
    let ctx = cpu();
    let first = hold(&ctx).unwrap();
    let flight = ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(1).unwrap();
    let recorded = ctx.record(flight).unwrap();
    let second = hold(&ctx).unwrap();
    let later = ctx.create_host_buffer_from(&[3; LEN]).unwrap();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    drop(dev.enqueue_copy_from(later).unwrap());
    first.release();
    assert_eq!(recorded.wait().unwrap()[..], [1; LEN]);
    overwrite_what_is_free(&ctx);
    second.release();
    assert_eq!(dev.to_vec().unwrap(), [3; LEN]);
}

/// 6: `record` then `wait` waits for that point and not for what comes later.
///
/// Broken on purpose: in `wait.rs`, `Recorded::wait` waits for the whole stream: this test then never ends.
#[test]
fn a_recorded_point_does_not_wait_for_later_work() {
    let ctx = cpu();
    let flight = ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(1).unwrap();
    let recorded = ctx.record(flight).unwrap();
    let held = hold(&ctx).unwrap();
    assert_eq!(recorded.wait().unwrap()[..], [1; LEN]);
    held.release();
}

/// 6: a wait waits.
///
/// Broken on purpose: in `cpu/core.rs`, `wait` does not block.
#[test]
fn waits_wait() {
    let ctx = cpu();
    let flight = |ctx: &DeviceContext| ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(4).unwrap();
    let held = hold(&ctx).unwrap();
    let it = flight(&ctx);
    assert_eq!(released_meanwhile(held, || ctx.synchronize(it).unwrap())[..], [4; LEN]);
    let held = hold(&ctx).unwrap();
    let it = flight(&ctx);
    assert_eq!(released_meanwhile(held, || it.synchronize().unwrap())[..], [4; LEN]);
    let held = hold(&ctx).unwrap();
    let it = ctx.record(flight(&ctx)).unwrap();
    assert_eq!(released_meanwhile(held, || it.wait().unwrap())[..], [4; LEN]);
    // Of nothing, too.
    let held = hold(&ctx).unwrap();
    released_meanwhile(held, || ctx.synchronize(()).unwrap());
    let held = hold(&ctx).unwrap();
    released_meanwhile(held, || ctx.synchronize(Vec::<escrow::InFlight<HostBuffer<u8>>>::new()).unwrap());
    let held = hold(&ctx).unwrap();
    released_meanwhile(held, || ctx.synchronize(None::<escrow::InFlight<HostBuffer<u8>>>).unwrap());
    let dev = ctx.enqueue_create_buffer_zeroed::<u8>(3).unwrap();
    let held = hold(&ctx).unwrap();
    released_meanwhile(held, || dev.to_vec().unwrap());
    let mut slice = [1u8; 3];
    let held = hold(&ctx).unwrap();
    released_meanwhile(held, || dev.copy_to_slice(&mut slice).unwrap());
    let mut dev = dev;
    let held = hold(&ctx).unwrap();
    released_meanwhile(held, || dev.copy_from_slice(&slice).unwrap());
}

/// 6: a wait on a failed stream waits first and reports then, and gives nothing back.
///
/// Broken on purpose: in `cpu/core.rs`, `wait` asks for the failure before it waits.
#[test]
fn a_failed_stream_is_waited_for_all_the_same() {
    let (ctx, other) = (cpu(), cpu());
    fail(&ctx).unwrap();
    assert!(ctx.synchronize(()).is_err());
    let held = hold(&other).unwrap();
    // Behind the failure, and behind the held stream.
    let dev = other.enqueue_create_buffer_zeroed::<u32>(1).unwrap();
    let dev = other.handoff(dev, &ctx).unwrap();
    let flight = ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(4).unwrap();
    let Err(Fault { error, value }) = released_meanwhile(held, || ctx.synchronize(flight)) else { panic!("landed") };
    assert!(matches!(error, Error::StreamFailed(_)));
    let again = value.synchronize();
    assert!(matches!(again, Err(Fault { error: Error::StreamFailed(_), .. })));
    drop(dev);
}

/// 6: much that is parked on a stream that nobody waits on does not pile up.
///
/// Broken on purpose: in `cpu/core.rs`, the worker does not sweep.
#[test]
fn a_stream_that_nobody_waits_on_frees_what_it_passed() {
    let ctx = cpu();
    let mut blocks = HashSet::new();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(40_000).unwrap();
    for _ in 0..100 {
        let held = hold(&ctx).unwrap();
        for _ in 0..20 {
            let host = ctx.create_host_buffer::<u8>(40_000).unwrap();
            blocks.insert(host.as_ptr().addr());
            drop(dev.enqueue_copy_from(host).unwrap());
        }
        held.release();
        // An event that says how far it is, and does not cover anything by itself.
        let (here, reached) = channel();
        on_worker(&ctx, move || here.send(()).unwrap()).unwrap();
        reached.recv().unwrap();
    }
    // 2000 drops. Those of the last few turns may still be on their way.
    assert!(blocks.len() < 1000, "{} blocks", blocks.len());
}

/// Every upload counts, also of one source again and again.
///
/// Broken on purpose: in `copy.rs`, `ParkAfter` drops the count instead of parking it.
#[test]
fn every_pending_read_counts() {
    let ctx = cpu();
    let shared = ctx.create_host_buffer_from(&[1u32; LEN]).unwrap().into_shared();
    let held = hold(&ctx).unwrap();
    let mut flight = ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(0).unwrap();
    for _ in 0..500 {
        flight = flight.enqueue_copy_from(&shared).unwrap();
    }
    let Err(Fault { error: Error::StillShared { holders: 501 }, value: shared }) = shared.try_unshare() else {
        panic!("pending reads are not counted")
    };
    held.release();
    assert_eq!(ctx.synchronize(flight).unwrap()[..], [1; LEN]);
    assert_eq!(shared.try_unshare().unwrap()[..], [1; LEN]);
}

/// 2000 entries that are parked at one point are all kept until then, and all free when a wait has covered them.
///
/// Broken on purpose: in `parking.rs`, `sweep` returns after its first batch.
#[test]
fn two_thousand_parked_entries() {
    const BYTES: usize = 12_345; // a size class of this test alone
    let ctx = cpu();
    let held = hold(&ctx).unwrap();
    let create = || ctx.enqueue_create_buffer::<u8>(BYTES).unwrap();
    let address = |dev: &DeviceBuffer<MaybeUninit<u8>>| dev.unsafe_ptr().as_ptr().addr();
    let kept: HashSet<usize> = (0..2000).map(|_| address(&create())).collect();
    assert_eq!(kept.len(), 2000);
    held.release();
    ctx.synchronize(()).unwrap();
    let again: Vec<_> = (0..2000).map(|_| create()).collect();
    assert!(again.iter().all(|dev| kept.contains(&address(dev))));
}

/// 7: after a refused call nothing is pending: the host operand lands although the stream stands still.
///
/// Broken on purpose: in `copy.rs`, `enqueue` compares the lengths after it enqueued.
#[test]
fn after_a_refused_call_nothing_was_enqueued() {
    fn refused<S: StreamTag>(ctx: &DeviceContext<S>) {
        let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
        let held = hold(ctx).unwrap();
        let host = ctx.create_host_buffer_from(&[1u32; 3]).unwrap();
        let before = ctx.record(()).unwrap();
        let Err(Fault { error: Error::Length { .. }, value }) = dev.enqueue_copy_to(host) else { panic!("3 elements") };
        let Err(Fault { error: Error::Length { .. }, value }) = dev.enqueue_copy_from(value) else {
            panic!("3 elements")
        };
        held.release();
        // The point from before the refused calls covers them.
        before.wait().unwrap();
        assert_eq!(value.synchronize().unwrap()[..], [1; 3]);
        assert_eq!(dev.to_vec().unwrap(), [0; LEN]);
    }
    refused(&cpu());
    refused(&DeviceContext::new(Device::cpu_chaos(5)).unwrap());
}

/// 11: memory is initialised from the start. Under chaos it reads as poison, when new and when used before.
///
/// Broken on purpose: in `device.rs`, `take` or `give_back` does not poison.
#[test]
fn memory_is_initialised_and_poisoned_under_chaos() {
    let ctx = DeviceContext::new(Device::cpu_chaos(4)).unwrap();
    for round in 0..5 {
        let raw = ctx.enqueue_create_buffer::<u64>(LEN).unwrap();
        // SAFETY: not so, and that is the point: the CPU device's memory is initialised whoever says what.
        let mut dev = unsafe { raw.assume_init() };
        assert_eq!(dev.to_vec().unwrap(), [u64::MAX; LEN], "{round}");
        dev.enqueue_fill(round).unwrap();
        drop(dev);
        let mut host = ctx.create_host_buffer::<u64>(LEN).unwrap();
        assert_eq!(host[..], [u64::MAX; LEN], "{round}");
        host.fill(round);
        drop(host);
        ctx.synchronize(()).unwrap();
    }
}

/// Idle host memory joins any stream, in either role, and moves on from wait to wait.
///
/// Broken on purpose: in `host.rs`, `take_off` leaves the buffer on its old stream: the wait is then refused.
#[test]
fn idle_memory_joins_the_stream_of_its_operation() {
    let (a, b) = (cpu(), cpu());
    let mut here = a.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    let there = b.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(2).unwrap();
    let mut host = a.create_host_buffer::<u32>(LEN).unwrap();
    for _ in 0..10 {
        let flight = there.enqueue_copy_to(host).unwrap();
        host = b.synchronize(flight).unwrap();
        let flight = here.enqueue_copy_from(host).unwrap();
        host = a.synchronize(flight).unwrap();
    }
    assert_eq!((host[0], here.to_vec().unwrap()), (2, vec![2; LEN]));
}
