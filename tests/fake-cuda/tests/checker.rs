//! The checker: each kind of mistake is reported, and the program that does it right is not.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one contract for all: handles and pointers of this test, alive")]
#![allow(clippy::cast_ptr_alignment, reason = "pinned memory is aligned to 512 bytes")]

mod common;

use std::ptr;

use common::*;
use cuda::abi::*;

#[test]
fn a_correct_program_is_not_reported() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let (up, down) = (fake.pinned(4096), fake.pinned(4096));
    unsafe { up.write_bytes(7, 4096) };
    let dev = fake.alloc(4096, a);
    fake.up(dev, up, 4096, a);
    fake.edge(a, b);
    fake.down(down, dev, 4096, b);
    fake.sync(b);
    assert_eq!(unsafe { down.add(4095).read() }, 7);
    fake.edge(b, a);
    fake.fill(dev, 9, 4096, a);
    fake.free(dev, a);
    fake.free_host(down);
    fake.sync(a);
    fake.free_host(up);
    unsafe { ok(cuStreamDestroy_v2(a)) };
    unsafe { ok(cuStreamDestroy_v2(b)) };
    clean();
    assert_eq!((fake_cuda_live_allocations(), fake_cuda_live_streams(), fake_cuda_live_events()), (0, 0, 0));
}

#[test]
fn reading_before_the_wait_shows_the_scramble() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    fake.fill(dev, 3, 64, stream);
    unsafe { host.write_bytes(1, 64) };
    fake.down(host, dev, 64, stream);
    assert_eq!(unsafe { host.read() }, 0xA5, "neither the old nor the new value");
    fake.sync(stream);
    assert_eq!(unsafe { host.read() }, 3);
    clean();
}

#[test]
fn writing_the_source_before_the_wait_changes_what_arrives() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    unsafe { host.write_bytes(1, 64) };
    let dev = fake.alloc(64, stream);
    fake.up(dev, host, 64, stream);
    unsafe { host.write_bytes(2, 64) };
    fake.down(host, dev, 64, stream);
    assert_eq!(unsafe { host.read() }, 2, "a pending read of the block keeps it from being scrambled");
    fake.sync(stream);
    assert_eq!(unsafe { host.read() }, 2);
}

#[test]
fn pinned_memory_freed_without_a_wait() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    fake.up(dev, host, 64, stream);
    fake.free_host(host);
    only("free in use");
    assert_eq!(count("@device-wait"), 1);
}

#[test]
fn a_wait_for_earlier_work_is_no_wait_for_later_work() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let (dev, event) = (fake.alloc(64, stream), fake.event());
    unsafe { ok(cuEventRecord(event, stream)) };
    fake.up(dev, host, 64, stream);
    unsafe { ok(cuEventSynchronize(event)) };
    fake.free_host(host);
    only("free in use");
}

#[test]
fn a_failed_wait_is_no_wait() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    fake.up(dev, host, 64, stream);
    fail("cuStreamSynchronize", 1, LAUNCH_FAILED);
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, LAUNCH_FAILED);
    fake.free_host(host);
    only("free in use");
}

#[test]
fn unregistered_without_a_wait() {
    let fake = Fake::new();
    let stream = fake.stream();
    let mut host = vec![0u8; 4096];
    unsafe { ok(cuMemHostRegister_v2(host.as_mut_ptr().cast(), 4096, 0)) };
    assert_eq!(unsafe { cuMemHostRegister_v2(host.as_mut_ptr().cast(), 1, 0) }, HOST_MEMORY_ALREADY_REGISTERED);
    let dev = fake.alloc(4096, stream);
    fake.up(dev, host.as_ptr(), 4096, stream);
    unsafe { ok(cuMemHostUnregister(host.as_mut_ptr().cast())) };
    only("free in use");
}

#[test]
fn another_stream_without_an_edge() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let dev = fake.alloc(64, a);
    fake.edge(a, b);
    fake.fill(dev, 1, 64, a);
    fake.fill(dev, 2, 64, b);
    fake.sync(a);
    fake.sync(b);
    only("race");
    assert!(text().contains("cuMemsetD8Async"), "{}", text());
}

#[test]
fn another_stream_before_the_allocation() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let dev = fake.alloc(64, a);
    fake.fill(dev, 1, 64, b);
    fake.sync(b);
    only("race");
}

#[test]
fn reads_do_not_race_and_disjoint_ranges_neither() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let (dev, other) = (fake.alloc(64, a), fake.alloc(64, a));
    let host = fake.pinned(128);
    fake.fill(dev, 1, 64, a);
    fake.edge(a, b);
    fake.down(host, dev, 64, a);
    fake.down(host.wrapping_add(64), dev, 64, b);
    fake.fill(other, 1, 32, a);
    fake.fill(other + 32, 1, 32, b);
    fake.sync(a);
    fake.sync(b);
    clean();
    fake.fill(other + 31, 1, 2, a);
    fake.fill(other + 32, 1, 1, b);
    fake.sync(a);
    fake.sync(b);
    only("race");
}

#[test]
fn a_host_wait_is_an_edge_for_all_streams() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let dev = fake.alloc(64, a);
    fake.fill(dev, 1, 64, a);
    fake.sync(a);
    fake.fill(dev, 2, 64, b);
    while unsafe { cuStreamQuery(b) } == NOT_READY {}
    fake.fill(dev, 3, 64, a);
    fake.sync(a);
    clean();
}

#[test]
fn freed_on_one_stream_while_another_uses_it() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let dev = fake.alloc(64, a);
    fake.edge(a, b);
    fake.fill(dev, 1, 64, b);
    fake.free(dev, a);
    fake.sync(b);
    fake.sync(a);
    only("free in use");
}

#[test]
fn the_use_that_runs_after_the_free() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let dev = fake.alloc(64, a);
    fake.edge(a, b);
    fake.fill(dev, 1, 64, b);
    fake.free(dev, a);
    fake.sync(a);
    fake.sync(b);
    only("use after free");
}

#[test]
fn the_use_that_is_enqueued_after_the_free() {
    let fake = Fake::new();
    let stream = fake.stream();
    let dev = fake.alloc(64, stream);
    fake.free(dev, stream);
    assert_eq!(unsafe { cuMemsetD8Async(dev, 0, 64, stream) }, INVALID_VALUE);
    only("use after free");
    assert_eq!(unsafe { cuMemFreeAsync(dev, stream) }, INVALID_VALUE);
    assert_eq!(reports("bad free"), 1);
    fake.sync(stream);
    let next = fake.alloc(64, stream);
    assert_ne!(next, dev, "addresses are not given out twice");
}

#[test]
fn freed_at_once_while_a_stream_uses_it() {
    let fake = Fake::new();
    let stream = fake.stream();
    let mut dev = 0;
    unsafe { ok(cuMemAlloc_v2(&raw mut dev, 64)) };
    fake.fill(dev, 1, 64, stream);
    unsafe { ok(cuMemFree_v2(dev)) };
    only("free in use");
}

#[test]
fn a_free_of_another_kind() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let mut dev = 0;
    unsafe {
        ok(cuMemAlloc_v2(&raw mut dev, 64));
        assert_eq!(cuMemFreeAsync(host.addr() as u64, stream), INVALID_VALUE);
        assert_eq!(cuMemFree_v2(dev + 8), INVALID_VALUE);
        assert_eq!(cuMemHostUnregister(host.cast()), HOST_MEMORY_NOT_REGISTERED);
        ok(cuMemFreeAsync(dev, stream));
        ok(cuMemFreeAsync(0, stream));
        ok(cuMemFree_v2(0));
        ok(cuMemFreeHost(ptr::null_mut()));
    }
    assert_eq!(reports("bad free"), 3, "{}", text());
}

#[test]
fn past_the_end() {
    let fake = Fake::new();
    let stream = fake.stream();
    let dev = fake.alloc(64, stream);
    assert_eq!(unsafe { cuMemsetD8Async(dev + 1, 0, 64, stream) }, INVALID_VALUE);
    only("out of bounds");
    assert_eq!(unsafe { cuMemsetD8Async(dev + 64, 0, 1, stream) }, INVALID_VALUE);
    assert_eq!(reports("not allocated"), 1, "{}", text());
}

#[test]
fn overlapping_copy() {
    let fake = Fake::new();
    let stream = fake.stream();
    let dev = fake.alloc(96, stream);
    assert_eq!(unsafe { cuMemcpyDtoDAsync_v2(dev, dev + 32, 33, stream) }, INVALID_VALUE);
    only("overlap");
    unsafe { ok(cuMemcpyDtoDAsync_v2(dev, dev + 32, 32, stream)) };
    only("overlap");
}

#[test]
fn bad_handles() {
    let fake = Fake::new();
    let (stream, event) = (fake.stream(), fake.event());
    unsafe {
        for small in 0..3usize {
            assert_eq!(cuStreamSynchronize(ptr::without_provenance_mut(small)), INVALID_HANDLE);
        }
        assert_eq!(cuStreamSynchronize(event.cast()), INVALID_HANDLE, "an event is no stream");
        ok(cuStreamDestroy_v2(stream));
        assert_eq!(cuStreamQuery(stream), INVALID_HANDLE);
        ok(cuEventDestroy_v2(event));
        assert_eq!(cuEventRecord(event, fake.stream()), INVALID_HANDLE);
        assert_eq!(cuCtxSetCurrent(stream.cast()), INVALID_CONTEXT);
    }
    assert_eq!(reports("bad handle"), 7, "{}", text());
}

#[test]
fn never_written_memory_read() {
    let fake = Fake::new();
    fake_cuda_set_initcheck(1);
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    fake.fill(dev, 0, 63, stream);
    fake.down(host, dev, 63, stream);
    fake.sync(stream);
    clean();
    fake.down(host, dev, 64, stream);
    fake.sync(stream);
    only("unwritten");
}

#[test]
fn host_function_that_calls_the_driver() {
    unsafe extern "C" fn function(data: *mut std::ffi::c_void) {
        unsafe { data.cast::<CUresult>().write(cuStreamSynchronize(ptr::null_mut())) };
    }
    let fake = Fake::new();
    let stream = fake.stream();
    let mut code = 0;
    unsafe { ok(cuLaunchHostFunc(stream, Some(function), (&raw mut code).cast())) };
    fake.sync(stream);
    assert_eq!(code, NOT_PERMITTED);
    only("not permitted");
}

#[test]
fn null_stream_work_is_not_ordered_with_non_blocking_streams() {
    let fake = Fake::new();
    let stream = fake.stream();
    let mut blocking = ptr::null_mut();
    unsafe { ok(cuStreamCreate(&raw mut blocking, 0)) };
    let dev = fake.alloc(64, stream);
    fake.sync(stream);
    unsafe { ok(cuMemsetD8_v2(dev, 1, 64)) };
    fake.fill(dev, 2, 64, blocking);
    fake.sync(blocking);
    clean();
    unsafe { ok(cuMemsetD8_v2(dev, 1, 64)) };
    fake.fill(dev, 2, 64, stream);
    unsafe { ok(cuCtxSynchronize()) };
    only("race");
}

#[test]
fn the_process_ends_at_a_report_unless_told_otherwise() {
    if std::env::var_os("FAKE_CUDA_TEST_CHILD").is_some() {
        let fake = Fake::new();
        fake_cuda_set_abort(1);
        let stream = fake.stream();
        let dev = fake.alloc(64, stream);
        let _ = unsafe { cuMemsetD8Async(dev, 0, 65, stream) };
        return;
    }
    let me = std::env::current_exe().expect("this test");
    let mut child = std::process::Command::new(me);
    child.args(["--exact", "the_process_ends_at_a_report_unless_told_otherwise", "--nocapture"]);
    let output = child.env("FAKE_CUDA_TEST_CHILD", "1").output().expect("runs");
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("out of bounds"), "{stderr}");
}

#[test]
fn what_nobody_waited_for_is_checked_when_the_process_ends() {
    if std::env::var_os("FAKE_CUDA_TEST_CHILD").is_some() {
        let fake = Fake::new();
        let (a, b) = (fake.stream(), fake.stream());
        let dev = fake.alloc(64, a);
        fake.edge(a, b);
        fake.fill(dev, 1, 64, a);
        fake.fill(dev, 1, 64, b);
        fake_cuda_set_abort(1);
        return;
    }
    let me = std::env::current_exe().expect("this test");
    let mut child = std::process::Command::new(me);
    child.args(["--exact", "what_nobody_waited_for_is_checked_when_the_process_ends", "--nocapture"]);
    let output = child.env("FAKE_CUDA_TEST_CHILD", "1").output().expect("runs");
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("race"), "{stderr}");
}
