//! Stream semantics, failures on request, modes.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one contract for all: handles and pointers of this test, alive")]
#![allow(clippy::cast_ptr_alignment, reason = "pinned memory is aligned to 512 bytes")]

mod common;

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::*;
use cuda::abi::*;

#[test]
fn a_wait_keeps_what_the_event_captured_then() {
    let fake = Fake::new();
    let (a, b, event) = (fake.stream(), fake.stream(), fake.event());
    let (x, y) = (fake.alloc(64, a), fake.alloc(64, a));
    let host = fake.pinned(64);
    unsafe { ok(cuEventRecord(event, a)) };
    unsafe { ok(cuStreamWaitEvent(b, event, 0)) };
    fake.fill(x, 1, 64, a);
    unsafe { ok(cuEventRecord(event, a)) };
    fake.fill(y, 5, 64, b);
    fake.sync(b);
    clean();
    // The wait before the second record does not cover the fill of x.
    fake.down(host, x, 64, b);
    fake.sync(b);
    clean();
    fake_cuda_finish();
    only("race");
}

#[test]
fn an_event_never_recorded_is_no_edge_and_no_wait() {
    let fake = Fake::new();
    let (a, b, event) = (fake.stream(), fake.stream(), fake.event());
    let dev = fake.alloc(64, a);
    unsafe {
        ok(cuEventQuery(event));
        ok(cuEventSynchronize(event));
        ok(cuStreamWaitEvent(b, event, 0));
    }
    fake.fill(dev, 1, 64, b);
    fake.sync(b);
    only("race");
}

#[test]
fn a_wait_outlives_its_event_and_its_stream() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let (dev, host) = (fake.alloc(64, a), fake.pinned(64));
    fake.fill(dev, 4, 64, a);
    fake.edge(a, b);
    unsafe { ok(cuStreamDestroy_v2(a)) };
    fake.down(host, dev, 64, b);
    fake.sync(b);
    assert_eq!(unsafe { host.read() }, 4);
    clean();
}

#[test]
fn nothing_runs_before_it_is_waited_for_and_polling_gets_there() {
    let fake = Fake::new();
    let (stream, event, host) = (fake.stream(), fake.event(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    fake.fill(dev, 4, 64, stream);
    fake.down(host, dev, 64, stream);
    unsafe { ok(cuEventRecord(event, stream)) };
    assert_eq!(unsafe { host.read() }, 0xA5);
    let mut polls = 0;
    while unsafe { cuEventQuery(event) } == NOT_READY {
        polls += 1;
    }
    assert!(polls > 1);
    assert_eq!(unsafe { host.read() }, 4);
    fake.free_host(host);
    clean();
}

#[test]
fn a_stream_holds_back_so_many_operations_and_no_more() {
    let fake = Fake::new();
    let stream = fake.stream();
    let dev = fake.alloc(64, stream);
    let host = fake.pinned(64);
    fake.down(host, dev, 64, stream);
    for _ in 0..10_000 {
        fake.fill(dev, 1, 64, stream);
    }
    assert_ne!(unsafe { host.read() }, 0xA5);
}

#[test]
fn fills_of_all_widths_and_elapsed_time() {
    let fake = Fake::new();
    let stream = fake.stream();
    let (dev, host) = (fake.alloc(64, stream), fake.pinned(64));
    let (mut start, mut end) = (ptr::null_mut(), ptr::null_mut());
    unsafe {
        ok(cuEventCreate(&raw mut start, 0));
        ok(cuEventCreate(&raw mut end, 0));
        ok(cuEventRecord(start, stream));
        ok(cuMemsetD16Async(dev, 0x0102, 16, stream));
        ok(cuMemsetD32Async(dev + 32, 0x0304_0506, 8, stream));
        assert_eq!(cuMemsetD32Async(dev + 2, 0, 1, stream), INVALID_VALUE);
        ok(cuEventRecord(end, stream));
        let mut time = -1.0;
        assert_eq!(cuEventElapsedTime(&raw mut time, start, end), NOT_READY);
        fake.down(host, dev, 64, stream);
        fake.sync(stream);
        ok(cuEventElapsedTime(&raw mut time, start, end));
        assert!(time >= 0.0);
        assert_eq!(host.cast::<u16>().add(15).read(), 0x0102);
        assert_eq!(host.cast::<u32>().add(15).read(), 0x0304_0506);
    }
    clean();
}

#[test]
fn host_functions_run_in_order_and_by_themselves() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn function(_: *mut c_void) {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }
    let fake = Fake::new();
    let stream = fake.stream();
    unsafe { ok(cuLaunchHostFunc(stream, Some(function), ptr::null_mut())) };
    // Nobody waits on the stream: the program may be waiting for the function itself.
    while CALLS.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    fake.sync(stream);
    clean();
}

#[test]
fn which_calls_need_a_current_context() {
    let fake = Fake::new();
    let (stream, event, host) = (fake.stream(), fake.event(), fake.pinned(64));
    unsafe {
        ok(cuCtxSetCurrent(ptr::null_mut()));
        let dev = fake.alloc(64, stream);
        fake.up(dev, host, 64, stream);
        fake.fill(dev, 0, 64, stream);
        ok(cuEventRecord(event, stream));
        fake.free(dev, stream);
        fake.sync(stream);
        let (mut e, mut p, mut d) = (ptr::null_mut(), ptr::null_mut(), 0);
        assert_eq!(cuEventCreate(&raw mut e, 0), INVALID_CONTEXT);
        assert_eq!(cuMemHostAlloc(&raw mut p, 64, 0), INVALID_CONTEXT);
        assert_eq!(cuMemAlloc_v2(&raw mut d, 64), INVALID_CONTEXT);
        fake_cuda_set_strict(1);
        assert_eq!(cuMemFreeHost(host.cast()), INVALID_CONTEXT);
        assert_eq!(cuStreamSynchronize(stream), INVALID_CONTEXT);
        assert_eq!(cuMemAllocAsync(&raw mut d, 64, stream), INVALID_CONTEXT);
        ok(cuCtxPushCurrent_v2(fake.ctx));
        fake.sync(stream);
        ok(cuCtxPopCurrent_v2(ptr::null_mut()));
        assert_eq!(cuStreamQuery(stream), INVALID_CONTEXT);
    }
    clean();
}

#[test]
fn failures_on_request() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    let (up, null) = (|| unsafe { cuMemcpyHtoDAsync_v2(dev, host.cast(), 64, stream) }, ptr::null_mut());
    fail("cuMemcpyHtoDAsync_v2", 2, ILLEGAL_ADDRESS);
    assert_eq!((up(), up(), up()), (0, ILLEGAL_ADDRESS, 0));
    fake_cuda_reset();
    fail("*", 3, OUT_OF_MEMORY);
    assert_eq!((up(), up(), up(), up()), (0, 0, OUT_OF_MEMORY, 0));
    assert_eq!(count("cuMemcpyHtoDAsync_v2"), 4);
    assert_eq!(count("*"), 4);
    fake_cuda_reset();
    // Done, and reported as failed all the same.
    fail_as("cuMemAllocAsync", 1, LAUNCH_FAILED, true, false);
    let (mut other, live) = (0, fake_cuda_live_allocations());
    assert_eq!(unsafe { cuMemAllocAsync(&raw mut other, 64, stream) }, LAUNCH_FAILED);
    assert!(other != 0 && fake_cuda_live_allocations() == live + 1);
    // For good.
    fail_as("cuStreamQuery", 1, ILLEGAL_ADDRESS, false, true);
    unsafe {
        assert_eq!(cuStreamQuery(stream), ILLEGAL_ADDRESS);
        assert_eq!(cuStreamSynchronize(stream), ILLEGAL_ADDRESS);
        assert_eq!(up(), ILLEGAL_ADDRESS);
        assert_eq!(cuEventCreate(null, 0), ILLEGAL_ADDRESS);
        let mut version = 0;
        ok(cuDriverGetVersion(&raw mut version));
        assert_eq!(version, 13000);
    }
}

#[test]
fn each_call_of_a_program_fails_in_turn() {
    let program = || {
        // Raw calls, since all of them may fail.
        let mut codes = Vec::new();
        let (mut stream, mut dev) = (ptr::null_mut(), 0);
        unsafe {
            codes.push(cuStreamCreate(&raw mut stream, 1));
            if codes.iter().all(|c| *c == 0) {
                codes.push(cuMemAllocAsync(&raw mut dev, 64, stream));
                if dev != 0 {
                    codes.push(cuMemsetD8Async(dev, 1, 64, stream));
                    codes.push(cuMemFreeAsync(dev, stream));
                }
                codes.push(cuStreamSynchronize(stream));
                codes.push(cuStreamDestroy_v2(stream));
            }
        }
        codes
    };
    let _fake = Fake::new();
    let calls = {
        fake_cuda_reset();
        let _ = program();
        count("*")
    };
    assert_eq!(calls, 6);
    for nth in 1..=calls {
        fake_cuda_reset();
        fail("*", nth, LAUNCH_FAILED);
        assert_eq!(program().iter().filter(|c| **c == LAUNCH_FAILED).count(), 1, "call {nth}");
        clean();
    }
}

#[test]
fn delays_change_when_and_not_what() {
    let fake = Fake::new();
    for seed in 1..=10 {
        fake_cuda_set_delay(seed);
        let (a, b) = (fake.stream(), fake.stream());
        let (dev, host) = (fake.alloc(256, a), fake.pinned(256));
        for round in 0..20 {
            fake.fill(dev, round, 256, a);
            fake.edge(a, b);
            fake.down(host, dev, 256, b);
            fake.sync(b);
            assert_eq!(unsafe { host.add(255).read() }, round);
        }
        fake.free(dev, a);
        fake.free_host(host);
        unsafe { ok(cuCtxSynchronize()) };
        clean();
        // A mistake is found under delays too.
        let dev = fake.alloc(256, a);
        fake.edge(a, b);
        fake.fill(dev, 1, 256, a);
        fake.fill(dev, 2, 256, b);
        unsafe { ok(cuCtxSynchronize()) };
        only("race");
        fake_cuda_reset();
    }
    fake_cuda_set_delay(0);
}

#[test]
fn host_functions_may_wait_for_the_program_under_delays() {
    static GATE: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn gate(_: *mut c_void) {
        while GATE.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
    let fake = Fake::new();
    fake_cuda_set_delay(3);
    let (a, b) = (fake.stream(), fake.stream());
    unsafe { ok(cuLaunchHostFunc(a, Some(gate), ptr::null_mut())) };
    let dev = fake.alloc(64, b);
    fake.fill(dev, 1, 64, b);
    fake.sync(b);
    assert_eq!(unsafe { cuStreamQuery(a) }, NOT_READY);
    GATE.store(1, Ordering::SeqCst);
    fake.sync(a);
    fake_cuda_set_delay(0);
    clean();
}

#[test]
fn without_pools() {
    let fake = Fake::new();
    fake_cuda_set_pools(0);
    let stream = fake.stream();
    let (mut value, mut dev, mut pool) = (-1, 0, ptr::null_mut());
    unsafe {
        ok(cuDeviceGetAttribute(&raw mut value, 115, 0));
        assert_eq!(value, 0);
        assert_eq!(cuMemAllocAsync(&raw mut dev, 64, stream), NOT_SUPPORTED);
        assert_eq!(cuDeviceGetDefaultMemPool(&raw mut pool, 0), NOT_SUPPORTED);
        ok(cuMemAlloc_v2(&raw mut dev, 64));
        ok(cuMemFree_v2(dev));
    }
    clean();
}

#[test]
fn two_devices() {
    let fake = Fake::with_devices(2);
    let (mut other, mut stream, mut event) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let mine = fake.stream();
    let (from, host) = (fake.alloc(64, mine), fake.pinned(64));
    fake.fill(from, 6, 64, mine);
    unsafe {
        ok(cuDevicePrimaryCtxRetain(&raw mut other, 1));
        ok(cuCtxPushCurrent_v2(other));
        ok(cuStreamCreate(&raw mut stream, 1));
        ok(cuEventCreate(&raw mut event, 0));
        ok(cuCtxPopCurrent_v2(ptr::null_mut()));
        let to = fake.alloc(64, stream);
        fake.edge(mine, stream);
        ok(cuMemcpyPeerAsync(to, other, from, fake.ctx, 64, stream));
        fake.down(host, to, 64, stream);
        fake.sync(stream);
        assert_eq!(host.read(), 6);
        clean();
        assert_eq!(cuMemcpyPeerAsync(to, fake.ctx, from, fake.ctx, 64, stream), INVALID_VALUE);
        assert_eq!(cuMemcpyDtoDAsync_v2(to, from, 64, stream), INVALID_VALUE);
        assert_eq!(cuMemsetD8Async(from, 0, 64, stream), INVALID_VALUE);
        assert_eq!(cuMemFreeAsync(from, stream), INVALID_VALUE);
        assert_eq!(cuEventRecord(event, mine), INVALID_HANDLE);
        assert_eq!(reports("wrong context"), 5, "{}", text());
        fake_cuda_reset();
        ok(cuCtxSetCurrent(other));
        ok(cuCtxEnablePeerAccess(fake.ctx, 0));
        assert_eq!(cuCtxEnablePeerAccess(fake.ctx, 0), PEER_ACCESS_ALREADY_ENABLED);
        ok(cuMemcpyDtoDAsync_v2(to, from, 64, stream));
        fake.sync(stream);
        ok(cuDevicePrimaryCtxRelease_v2(1));
        assert_eq!(cuStreamSynchronize(stream), INVALID_HANDLE);
        only("bad handle");
    }
}

#[test]
fn memory_ends_and_comes_back() {
    let fake = Fake::new();
    fake_cuda_set_memory(1 << 20);
    let stream = fake.stream();
    let dev = fake.alloc(1 << 20, stream);
    let mut more = 0;
    assert_eq!(unsafe { cuMemAllocAsync(&raw mut more, 1, stream) }, OUT_OF_MEMORY);
    fake.free(dev, stream);
    let again = fake.alloc(1 << 20, stream);
    let (mut free, mut total) = (1, 0);
    unsafe { ok(cuMemGetInfo_v2(&raw mut free, &raw mut total)) };
    assert_eq!((free, total), (0, 1 << 20));
    fake.free(again, stream);
    clean();
}

#[test]
fn pageable_copies_are_counted() {
    let fake = Fake::new();
    let stream = fake.stream();
    let dev = fake.alloc(4, stream);
    let (mut from, mut to) = ([1u8, 2, 3, 4], [0u8; 4]);
    fake.up(dev, from.as_ptr(), 4, stream);
    from = [9; 4];
    fake.down(to.as_mut_ptr(), dev, 4, stream);
    assert_eq!((from, to), ([9; 4], [1, 2, 3, 4]), "staged at the call");
    assert_eq!(count("@pageable"), 2);
    clean();
    fake_cuda_set_pinned_only(1);
    fake.up(dev, from.as_ptr(), 4, stream);
    only("not permitted");
}

#[test]
fn pointers_and_names() {
    let fake = Fake::new();
    let stream = fake.stream();
    let (dev, host) = (fake.alloc(64, stream), fake.pinned(64));
    let (mut kind, mut ordinal, mut base) = (0u32, 9i32, 0u64);
    unsafe {
        ok(cuPointerGetAttribute((&raw mut kind).cast(), 2, dev + 5));
        assert_eq!(kind, 2);
        ok(cuPointerGetAttribute((&raw mut kind).cast(), 2, host.addr() as u64));
        assert_eq!(kind, 1);
        let mut numbers = [2, 9, 11];
        let mut places: [*mut c_void; 3] = [(&raw mut kind).cast(), (&raw mut ordinal).cast(), (&raw mut base).cast()];
        ok(cuPointerGetAttributes(3, numbers.as_mut_ptr(), places.as_mut_ptr(), dev + 5));
        assert_eq!((kind, ordinal, base), (2, 0, dev));
        ok(cuPointerGetAttributes(3, numbers.as_mut_ptr(), places.as_mut_ptr(), (&raw const kind).addr() as u64));
        assert_eq!((kind, ordinal, base), (0, -2, 0));
        let mut name = ptr::null();
        ok(cuGetErrorName(700, &raw mut name));
        assert_eq!(CStr::from_ptr(name), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        ok(cuGetErrorString(201, &raw mut name));
        assert_eq!(CStr::from_ptr(name), c"invalid device context");
        assert_eq!(cuGetErrorName(12345, &raw mut name), INVALID_VALUE);
        assert_eq!(cuda::api::unsupported::cuGraphDestroy(), NOT_SUPPORTED);
    }
    assert_eq!(count("cuGraphDestroy"), 1);
}

#[test]
fn the_log_shows_calls_with_their_arguments() {
    let fake = Fake::new();
    fake_cuda_set_log(1);
    let stream = fake.stream();
    let dev = fake.alloc(64, stream);
    fake.fill(dev, 7, 64, stream);
    fake_cuda_set_abort(0);
    let log = log();
    assert!(
        log.contains("cuMemsetD8Async(dst=") && log.contains("value=7, count=64") && log.ends_with("= 0\n"),
        "{log}"
    );
}

#[test]
fn the_null_mode_only_counts() {
    let fake = Fake::new();
    let stream = fake.stream();
    fake_cuda_set_null(1);
    let dev = fake.alloc(64, stream);
    for _ in 0..1000 {
        unsafe { ok(cuMemsetD8Async(dev, 0, 1 << 40, stream)) };
    }
    fake.free(dev, stream);
    fake.sync(stream);
    assert_eq!(count("cuMemsetD8Async"), 1000);
    fake_cuda_set_null(0);
    clean();
}

#[test]
fn before_cu_init() {
    let fake = Fake::new();
    fake_cuda_wipe();
    fake_cuda_set_abort(0);
    let mut n = 0;
    assert_eq!(unsafe { cuDeviceGetCount(&raw mut n) }, NOT_INITIALIZED);
    fake_cuda_set_devices(0);
    assert_eq!(unsafe { cuInit(0) }, NO_DEVICE);
    drop(fake);
}

#[test]
fn many_host_threads_under_delays() {
    let fake = Fake::new();
    for seed in [0, 7, 8] {
        fake_cuda_set_delay(seed);
        let ctx = fake.ctx.addr();
        std::thread::scope(|scope| {
            for worker in 0..4u8 {
                let fake = &fake;
                scope.spawn(move || {
                    unsafe { ok(cuCtxSetCurrent(ptr::without_provenance_mut(ctx))) };
                    let (a, b) = (fake.stream(), fake.stream());
                    let (x, y, host) = (fake.alloc(64, a), fake.alloc(64, a), fake.pinned(64));
                    for round in 0..50u8 {
                        fake.fill(x, round ^ worker, 64, a);
                        fake.edge(a, b);
                        unsafe { ok(cuMemcpyDtoDAsync_v2(y, x, 64, b)) };
                        fake.down(host, y, 64, b);
                        fake.edge(b, a);
                        fake.sync(if round % 2 == 0 { a } else { b });
                        assert_eq!(unsafe { host.add(63).read() }, round ^ worker);
                    }
                    fake.free(x, a);
                    fake.edge(b, a);
                    fake.free(y, a);
                    fake.free_host(host);
                    unsafe {
                        ok(cuStreamDestroy_v2(a));
                        ok(cuStreamDestroy_v2(b));
                    }
                });
            }
        });
        fake_cuda_finish();
        clean();
        assert_eq!((fake_cuda_live_allocations(), fake_cuda_live_streams(), fake_cuda_live_events()), (0, 0, 0));
    }
    fake_cuda_set_delay(0);
}
