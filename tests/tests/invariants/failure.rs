//! Invariant 15: kernel bodies that panic, and calls from them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

use escrow::Operation::{Copy, Create, Fill, Handoff, Launch, Record, Share, Wait};
use escrow::{Device, DeviceBuffer, DeviceContext, Error, Fault};
use escrow_tests::{fail, hold, on_worker};

use super::{LEN, cpu, overwrite_what_is_free};

/// 15: a panic makes the stream fail for good; what is behind it is skipped; every wait says so.
///
/// Broken on purpose: in `cpu/core.rs`, `execute` runs what is behind a failure; or `work` does not note it.
#[test]
fn a_panic_fails_the_stream_and_skips_what_is_behind() {
    for device in [Device::cpu(), Device::cpu_chaos(7)] {
        let ctx = DeviceContext::new(device).unwrap();
        let ran = Arc::new(AtomicU32::new(0));
        let count = |n: u32| {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(n, Ordering::Relaxed);
            }
        };
        let before = ctx.record(ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(1).unwrap()).unwrap();
        on_worker(&ctx, count(1)).unwrap();
        fail(&ctx).unwrap();
        on_worker(&ctx, count(100)).unwrap();
        let behind = ctx.record(ctx.create_host_buffer::<u32>(LEN).unwrap().enqueue_fill(2).unwrap()).unwrap();
        // A point before the failure fires as it should.
        assert_eq!(before.wait().unwrap()[..], [1; LEN]);
        let Err(Fault { error: Error::StreamFailed(failure), value: behind }) = behind.wait() else { panic!("behind") };
        assert!(failure.message.contains("wanted by a test"), "{failure}");
        assert!(matches!(behind.is_finished(), Err(Error::StreamFailed(_))));
        for _ in 0..3 {
            assert!(matches!(ctx.synchronize(()), Err(Fault { error: Error::StreamFailed(_), .. })));
        }
        // The first failure stays.
        on_worker(&ctx, || std::panic::resume_unwind(Box::new("another"))).unwrap();
        let Err(Fault { error: Error::StreamFailed(again), .. }) = ctx.synchronize(()) else { panic!("healed") };
        assert!(Arc::ptr_eq(&failure, &again));
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        // Other streams of the device do not notice.
        ctx.fork().unwrap().synchronize(()).unwrap();
    }
}

/// 15: a stream that waits for a failed one fails too, and so on.
///
/// Broken on purpose: in `cpu/core.rs`, `execute` of `Op::Wait` returns `Ok(())`.
#[test]
fn failure_spreads_along_edges() {
    let streams: Vec<DeviceContext> = (0..4).map(|_| cpu()).collect();
    fail(&streams[0]).unwrap();
    let mut dev = streams[0].enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
    for pair in streams.windows(2) {
        dev = pair[0].handoff(dev, &pair[1]).unwrap();
    }
    assert!(matches!(dev.to_vec(), Err(Error::StreamFailed(_))));
    for ctx in &streams {
        assert!(matches!(ctx.synchronize(()), Err(Fault { error: Error::StreamFailed(_), .. })));
    }
    // A share is an edge too.
    let (failed, well) = (cpu(), cpu());
    let shared = failed.enqueue_create_buffer_zeroed::<u32>(4).unwrap().into_shared().unwrap();
    fail(&failed).unwrap();
    let there = shared.share_with(&well).unwrap();
    assert!(matches!(there.to_vec(), Err(Error::StreamFailed(_))));
}

/// 15: what was recorded before the failure does not carry it.
///
/// Broken on purpose: in `cpu/core.rs`, `failure_at` does not compare numbers.
#[test]
fn an_edge_from_before_the_failure_does_not_spread_it() {
    let (a, b) = (cpu(), cpu());
    let dev = a.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(3).unwrap();
    let held = hold(&b).unwrap();
    let dev = a.handoff(dev, &b).unwrap();
    fail(&a).unwrap();
    assert!(a.synchronize(()).is_err());
    held.release();
    assert_eq!(dev.to_vec().unwrap(), [3; LEN]);
}

/// 3 and 15: a reader dropped on a failed stream ends its reads; the memory can be unshared and its failure stays away.
///
/// Broken on purpose: in `shared_device.rs`, `try_unshare` calls `wait_for` in place of `come_after`.
#[test]
fn a_reader_on_a_failed_stream_does_not_spoil_the_memory() {
    let (a, b) = (cpu(), cpu());
    let shared = a.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(3).unwrap().into_shared().unwrap();
    let there = shared.share_with(&b).unwrap();
    let held = hold(&b).unwrap();
    let flight = there.enqueue_copy_to(b.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
    let early = b.record(flight).unwrap();
    fail(&b).unwrap();
    drop(there.enqueue_copy_to(b.create_host_buffer::<u32>(LEN).unwrap()).unwrap());
    drop(there);
    let mut dev = shared.try_unshare().unwrap();
    dev.enqueue_fill(4).unwrap();
    held.release();
    assert_eq!(early.wait().unwrap()[..], [3; LEN]);
    assert_eq!(dev.to_vec().unwrap(), [4; LEN]);
}

/// 6 and 15: memory of a failed stream is freed when the stream has passed its waits for other streams, not before.
///
/// Broken on purpose: in `cpu/core.rs`, `execute` skips `Op::Wait` on a failed stream.
#[test]
fn a_failed_stream_still_waits_for_the_streams_before_it() {
    let (a, b) = (cpu(), cpu());
    fail(&b).unwrap();
    assert!(b.synchronize(()).is_err());
    let dev: DeviceBuffer<u32> = a.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(3).unwrap();
    let held = hold(&a).unwrap();
    let flight = dev.enqueue_copy_to(a.create_host_buffer::<u32>(LEN).unwrap()).unwrap();
    let (flight, dev) = a.handoff((flight, dev), &b).unwrap();
    // Freed in the order of `b`, which has failed, while `a` has yet to read it.
    drop(dev);
    let behind = b.record(()).unwrap();
    assert!(!matches!(behind.is_finished(), Ok(true)));
    overwrite_what_is_free(&a);
    let (tell, told) = channel();
    let address = flight.len();
    on_worker(&a, move || tell.send(address).unwrap()).unwrap();
    held.release();
    assert_eq!(told.recv(), Ok(LEN));
    assert!(behind.wait().is_err());
    drop(flight);
    a.synchronize(()).unwrap();
}

/// 15: enqueues, waits and allocations from a kernel body are errors; looks and drops are not.
///
/// Broken on purpose: take `not_on_worker` out of any of the calls: the operation is then not the one named here, or the
/// worker waits for itself.
#[test]
fn calls_from_a_worker_are_refused() {
    let (ctx, other) = (cpu(), cpu());
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(4).unwrap();
    let mut none = DeviceBuffer::<u32>::empty(&ctx);
    let host = ctx.create_host_buffer::<u32>(4).unwrap();
    let flight = ctx.create_host_buffer::<u32>(4).unwrap().enqueue_fill(1).unwrap();
    let recorded = ctx.record(ctx.create_host_buffer::<u32>(4).unwrap().enqueue_fill(1).unwrap()).unwrap();
    let shared = ctx.enqueue_create_buffer_zeroed::<u32>(4).unwrap().into_shared().unwrap();
    let (tell, told) = channel();
    let inner = ctx.clone();
    on_worker(&ctx, move || {
        let mut refused = Vec::new();
        let mut note = |error: Error| match error {
            Error::FromWorker { op } => refused.push(op),
            other => panic!("{other}"),
        };
        note(dev.enqueue_fill(1).unwrap_err());
        note(none.enqueue_fill(1).unwrap_err());
        note(dev.as_span_mut().enqueue_fill(1).unwrap_err());
        let Err(fault) = dev.enqueue_copy_to(host) else { panic!("a copy") };
        note(fault.error);
        note(none.enqueue_copy_from(&DeviceBuffer::<u32>::empty(&inner)).unwrap_err().error);
        note(dev.to_vec().unwrap_err());
        note(dev.copy_from_slice(&[1; 4]).unwrap_err());
        note(dev.copy_to_slice(&mut [1; 4]).unwrap_err());
        note(inner.create_host_buffer::<u8>(1).unwrap_err());
        note(inner.enqueue_create_buffer::<u8>(1).unwrap_err());
        note(inner.enqueue_create_buffer_zeroed::<u8>(0).unwrap_err());
        note(inner.fork().unwrap_err());
        note(inner.synchronize(()).unwrap_err().error);
        let Err(fault) = inner.synchronize(flight) else { panic!("a wait") };
        note(fault.error);
        let Err(fault) = inner.record(fault.value) else { panic!("a record") };
        note(fault.error);
        let Err(fault) = inner.handoff(fault.value, &other) else { panic!("a handoff") };
        note(fault.error);
        note(dev.on(&other, |_| Ok(())).unwrap_err());
        assert_eq!(dev.len(), 4);
        note(shared.share_with(&other).unwrap_err());
        let Err(fault) = shared.try_unshare() else { panic!("an unshare") };
        note(fault.error);
        note(on_worker(&inner, || ()).unwrap_err());
        recorded.is_finished().unwrap();
        let Err(fault) = recorded.wait() else { panic!("a wait for a point") };
        note(fault.error);
        tell.send(refused).unwrap();
    })
    .unwrap();
    let expected = vec![
        Fill, Fill, Fill, Copy, Copy, Copy, Copy, Copy, Create, Create, Create, Create, Wait, Wait, Record, Handoff,
        Handoff, Share, Share, Launch, Wait,
    ];
    // If the body panicked, its sender is gone and the stream says why.
    assert_eq!(told.recv(), Ok(expected), "{:?}", ctx.synchronize(()));
    ctx.synchronize(()).unwrap();
}

/// R7: a payload whose own drop panics ends the operation like any other.
///
/// Broken on purpose: in `cpu/team.rs`, `message` drops the payload without `catch_unwind`: the worker dies, and this
/// test never ends.
#[test]
fn a_panic_whose_payload_panics() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(Bomb));
        }
    }
    let ctx = cpu();
    on_worker(&ctx, || std::panic::resume_unwind(Box::new(Bomb))).unwrap();
    let Err(Fault { error: Error::StreamFailed(failure), .. }) = ctx.synchronize(()) else { panic!("it went well") };
    assert_eq!(failure.message, "a value that is not text");
}
