//! A GPU by itself: fills of every width, staging, streams that come and go, which driver calls an operation makes, and
//! what happens when any of them fails. Runs on a real GPU and on the fake driver; what only the fake one can tell is
//! skipped elsewhere.
#![cfg(feature = "cuda")]

use std::cell::RefCell;
use std::env;
use std::process::Command;

use escrow::{DType, Device, DeviceBuffer, DeviceContext, Error, Fault};
use escrow_tests::{fake, gpu};

fn context() -> Option<DeviceContext> {
    gpu().map(|gpu| DeviceContext::new(gpu).expect("a stream"))
}

fn fills<T: DType + PartialEq + std::fmt::Debug>(ctx: &DeviceContext, value: T) -> Result<(), Error> {
    for len in [0, 1, 2, 3, 7, 8, 100, 1001] {
        let mut dev = ctx.enqueue_create_buffer::<T>(len)?.enqueue_fill(value)?;
        assert_eq!(dev.to_vec()?, vec![value; len], "{} x {len}", T::NAME);
        let host = ctx.create_host_buffer::<T>(len)?.enqueue_fill(value)?;
        assert_eq!(host.synchronize()?[..], vec![value; len][..], "{} x {len} on the host", T::NAME);
        if len > 2 {
            // A part that starts at any multiple of the element.
            let blank = dev.context().enqueue_create_buffer_zeroed::<T>(1)?.to_vec()?[0];
            dev.enqueue_fill(blank)?;
            dev.as_span_mut().slice(1..len - 1)?.enqueue_fill(value)?;
            let values = dev.to_vec()?;
            assert_eq!((values[0], values[len - 1]), (blank, blank), "{} x {len} at the ends", T::NAME);
            assert_eq!(values[1..len - 1], vec![value; len - 2], "{} x {len} inside", T::NAME);
        }
    }
    Ok(())
}

#[test]
fn fills_of_every_width() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    fills(&ctx, 5u8)?;
    fills(&ctx, 0x1234u16)?;
    fills(&ctx, 0x1234_5678u32)?;
    fills(&ctx, 0x1234_5678_9ABC_DEF0u64)?;
    fills(&ctx, 1.5f64)?;
    fills(&ctx, u128::MAX / 7)?;
    // Equal halves, equal bytes, odd sizes, large ones.
    fills(&ctx, 0x4141_4141u32)?;
    fills(&ctx, 0x1234_1234_1234_1234u64)?;
    fills(&ctx, [1u8, 2, 3])?;
    fills(&ctx, [1.0f32, 2.0, 3.0])?;
    fills(&ctx, [1.0f32, 2.0, 3.0, 4.0])?;
    fills(&ctx, [1u64, 2, 3])?;
    fills(&ctx, [7u32; 9])?;
    fills(&ctx, [0x0123u16; 300])?;
    Ok(())
}

#[test]
fn pageable_memory_larger_than_the_staging_blocks() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let len = (8 << 20) * 6 + 12_345;
    let input: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(len)?;
    let mut output = vec![0; len];
    ctx.scope(|s| {
        dev.enqueue_copy_from(s.lend(&input))?;
        dev.enqueue_copy_to(s.lend_mut(&mut output))?;
        Ok(())
    })?;
    assert!(input == output);
    assert!(dev.to_vec()? == input);
    Ok(())
}

#[test]
fn streams_and_memory_are_used_again() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let before = fake::calls("cuStreamCreateWithPriority");
    for i in 0..50u8 {
        let fork = ctx.fork()?;
        let dev = fork.enqueue_create_buffer::<u8>(1000)?.enqueue_fill(i)?;
        let host = dev.enqueue_copy_to(fork.create_host_buffer::<u8>(1000)?)?;
        // Dropped in flight together with the last handles of its stream.
        drop((host, dev, fork));
        ctx.synchronize(())?;
    }
    let after = fake::calls("cuStreamCreateWithPriority");
    if fake::is_here() {
        assert!(after - before < 50, "a stream without handles that has ended is used again");
    }
    Ok(())
}

#[test]
fn a_stream_that_nobody_waits_on_frees_what_it_has_passed() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(256)?;
    let mut upload_and_drop = |times: usize| -> Result<(), Error> {
        for _ in 0..times {
            drop(dev.enqueue_copy_from(ctx.create_host_buffer::<u32>(256)?)?);
        }
        Ok(())
    };
    upload_and_drop(5000)?;
    // Another stream's wait, behind an edge: this one's marker has been passed, and it looks at it by itself.
    let other = ctx.fork()?;
    other.handoff(ctx.handoff(ctx.enqueue_create_buffer_zeroed::<u8>(1)?, &other)?, &ctx)?;
    other.synchronize(())?;
    let before = fake::calls("cuMemHostAlloc");
    upload_and_drop(500)?;
    let after = fake::calls("cuMemHostAlloc");
    if fake::is_here() {
        assert!(after - before < 100, "{}", after - before);
    }
    Ok(())
}

#[test]
fn host_memory_of_another_kind_of_device_is_refused() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let cpu = DeviceContext::new(Device::cpu())?;
    let Err(Fault { error, value }) = ctx.enqueue_create_buffer_from(cpu.create_host_buffer_from(&[1u8, 2])?) else {
        panic!("memory that is not pinned went to a GPU")
    };
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    assert_eq!(value.synchronize()?.as_span(), [1, 2]);
    let Err(Fault { error, .. }) = ctx.handoff(ctx.enqueue_create_buffer_zeroed::<u8>(1)?, &cpu) else {
        panic!("device memory went to another device")
    };
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    assert!(matches!(Device::cuda(99), Err(Error::NoDevice { ordinal: 99, .. })));
    Ok(())
}

/// Each operation makes the one call that raw code would make, and no other.
#[test]
fn driver_calls() -> Result<(), Error> {
    // Alone in its process, since the counts are of all threads.
    let (Some(ctx), Ok(_)) = (context(), env::var("ESCROW_CUDA_COUNTS")) else {
        if gpu().is_some() {
            let child = Command::new(env::current_exe().expect("this program"))
                .args(["driver_calls", "--exact", "--nocapture"])
                .env("ESCROW_CUDA_COUNTS", "1")
                // As a real driver is: with pools, and content without a current context.
                .env_remove("FAKE_CUDA_POOLS")
                .env_remove("FAKE_CUDA_STRICT")
                .output()
                .expect("this program starts");
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        }
        return Ok(());
    };
    if !fake::is_here() {
        return Ok(());
    }
    let calls = |what: &str, names: &[(&str, u64)], f: &mut dyn FnMut() -> Result<(), Error>| {
        let count = |name: &str| fake::calls(name);
        let before: Vec<u64> = names.iter().map(|(name, _)| count(name)).collect();
        let all = count("*");
        f()?;
        for ((name, times), before) in names.iter().zip(before) {
            assert_eq!(count(name) - before, *times, "{what}: {name}");
        }
        assert_eq!(count("*") - all, names.iter().map(|(_, times)| times).sum::<u64>(), "{what}: all calls");
        Ok::<(), Error>(())
    };
    let other = ctx.fork()?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(64)?;
    let mut second = ctx.enqueue_create_buffer_zeroed::<u32>(64)?;
    // The first event and the first pinned block of a size come from the driver.
    let mut flight = Some(dev.enqueue_copy_from(ctx.create_host_buffer::<u32>(64)?)?);
    dev = other.handoff(ctx.handoff(dev, &other)?, &ctx)?;
    calls("host to device", &[("cuMemcpyHtoDAsync_v2", 1)], &mut || {
        flight = Some(dev.enqueue_copy_from(flight.take().expect("it comes back"))?);
        Ok(())
    })?;
    calls("device to host", &[("cuMemcpyDtoHAsync_v2", 1)], &mut || {
        flight = Some(dev.enqueue_copy_to(flight.take().expect("it comes back"))?);
        Ok(())
    })?;
    calls("device to device", &[("cuMemcpyDtoDAsync_v2", 1)], &mut || Ok(second.enqueue_copy_from(&dev)?))?;
    calls("fill", &[("cuMemsetD32Async", 1)], &mut || dev.enqueue_fill(3))?;
    calls("wait", &[("cuStreamSynchronize", 1)], &mut || Ok(ctx.synchronize(())?))?;
    calls("create and drop", &[("cuMemAllocAsync", 1), ("cuMemFreeAsync", 1)], &mut || {
        drop(ctx.enqueue_create_buffer::<u32>(64)?);
        Ok(())
    })?;
    let mut dev = Some(dev);
    calls("handoff and drop", &[("cuEventRecord", 1), ("cuStreamWaitEvent", 1), ("cuMemFreeAsync", 1)], &mut || {
        drop(ctx.handoff(dev.take().expect("once"), &other)?);
        Ok(())
    })?;
    calls("record and wait", &[("cuEventRecord", 1), ("cuEventSynchronize", 1)], &mut || {
        let host = ctx.record(flight.take().expect("it comes back"))?.wait()?;
        drop(host);
        Ok(())
    })?;
    Ok(())
}

/// A driver call that failed may have enqueued its work all the same, so what comes back is waited for.
///
/// Broken on purpose: `Enqueued::new` with `asked: result.is_ok()` makes this fail.
#[test]
fn what_a_failed_driver_call_hands_back_is_waited_for() -> Result<(), Error> {
    let faults = "cuMemcpyDtoHAsync_v2:1:700:after,cuMemcpyAsync:3:1";
    let Some(()) = fake::alone("what_a_failed_driver_call_hands_back_is_waited_for", &[("FAKE_CUDA_FAIL", faults)])
    else {
        return Ok(());
    };
    let Some(ctx) = context() else { return Ok(()) };
    let waits = || fake::calls("cuStreamSynchronize");
    let dev = ctx.enqueue_create_buffer_zeroed::<u32>(64)?;
    let Err(Fault { value, .. }) = dev.enqueue_copy_to(ctx.create_host_buffer::<u32>(64)?) else {
        panic!("the call was to fail")
    };
    let before = waits();
    let host = value.synchronize()?;
    assert_eq!(waits() - before, 1, "the copy may be under way");
    assert_eq!(host[..], [0; 64]);
    // An operation of several calls, of which a later one fails.
    if let Err(Fault { value, .. }) = ctx.create_host_buffer::<[u8; 3]>(64)?.enqueue_fill([1, 2, 3]) {
        let before = waits();
        drop(value.synchronize()?);
        assert_eq!(waits() - before, 1, "a part of the fill may be under way");
        ctx.device().trim();
    }
    Ok(())
}

/// A shared buffer keeps one end for each stream that read it, however many handles there were.
#[test]
fn a_buffer_that_is_shared_for_long_collects_nothing() -> Result<(), Error> {
    let Some(()) = fake::alone("a_buffer_that_is_shared_for_long_collects_nothing", &[]) else { return Ok(()) };
    let Some(ctx) = context() else { return Ok(()) };
    let other = ctx.fork()?;
    let shared = ctx.enqueue_create_buffer_zeroed::<u32>(64)?.into_shared()?;
    for _ in 0..100 {
        assert_eq!(shared.share_with(&other)?.to_vec()?, [0; 64]);
    }
    let before = fake::calls("cuStreamWaitEvent");
    let mut dev = shared.try_unshare()?;
    let waits = fake::calls("cuStreamWaitEvent") - before;
    assert_eq!(waits, 1);
    dev.enqueue_fill(1)?;
    Ok(())
}

/// Without pools, memory that is only parked is found before the call gives up.
#[test]
fn parked_memory_is_found_when_there_is_no_other() -> Result<(), Error> {
    let settings = [("FAKE_CUDA_POOLS", "0"), ("FAKE_CUDA_MEMORY", "100000000")];
    let Some(()) = fake::alone("parked_memory_is_found_when_there_is_no_other", &settings) else { return Ok(()) };
    let Some(ctx) = context() else { return Ok(()) };
    for i in 0..30 {
        drop(ctx.enqueue_create_buffer::<u8>(10_000_000)?.enqueue_fill(i)?);
    }
    Ok(())
}

/// Buffers that are dropped, and made, by a thread's own variables at its end, when what the library keeps for the thread may
/// be gone already; and buffers of one thread that end on another.
#[test]
fn buffers_end_with_their_thread_and_on_others() -> Result<(), Error> {
    struct AtEnd(RefCell<Vec<DeviceBuffer<u32>>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let kept = self.0.take();
            let ctx = kept[0].context().clone();
            let again = ctx.enqueue_create_buffer::<u32>(100).and_then(|buf| Ok(buf.enqueue_fill(3)?));
            drop(kept);
            assert_eq!(again.and_then(|buf| buf.to_vec()).expect("a GPU at hand"), [3; 100]);
        }
    }
    thread_local! {
        static EARLY: AtEnd = const { AtEnd(RefCell::new(Vec::new())) };
        static LATE: AtEnd = const { AtEnd(RefCell::new(Vec::new())) };
    }

    const TEST: &str = "buffers_end_with_their_thread_and_on_others";
    let Some(()) = fake::alone(TEST, &[]) else { return Ok(()) };
    let Some(ctx) = context() else { return Ok(()) };
    let make = |value: u32| Ok::<_, Error>(ctx.enqueue_create_buffer::<u32>(100)?.enqueue_fill(value)?);
    make(0)?.to_vec()?; // the staging block stays
    ctx.synchronize(())?;
    let before = fake::live_allocations();
    for _ in 0..10 {
        let others = std::thread::scope(|threads| {
            let ended = threads.spawn(|| -> Result<Vec<DeviceBuffer<u32>>, Error> {
                // What is registered first is dropped last.
                EARLY.with(|it| it.0.borrow_mut().clear());
                drop(make(1)?);
                let (late, early) = ([make(2)?, make(3)?], [make(4)?, make(5)?]);
                LATE.with(|it| it.0.borrow_mut().extend(late));
                EARLY.with(|it| it.0.borrow_mut().extend(early));
                (0..50).map(make).collect()
            });
            ended.join().expect("a thread")
        })?;
        for (value, other) in others.iter().enumerate() {
            assert_eq!(other.to_vec()?, [value as u32; 100]);
        }
        drop(others); // more than a thread keeps
        for value in 0..50 {
            assert_eq!(make(value)?.to_vec()?, [value; 100]);
        }
    }
    ctx.synchronize(())?;
    assert_eq!(fake::live_allocations(), before);
    Ok(())
}
