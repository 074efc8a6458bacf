//! Kernels: they run, and their mistakes are found.
#![allow(clippy::undocumented_unsafe_blocks, reason = "one contract for all: handles and pointers of this test, alive")]
#![allow(clippy::cast_ptr_alignment, reason = "pinned memory is aligned to 512 bytes")]

mod common;

use std::ffi::{CString, c_void};
use std::ptr;

use common::*;
use cuda::abi::*;

const PTX: &str = include_str!("kernels.ptx");

fn load(text: &str) -> (CUresult, CUmodule) {
    let (text, mut module) = (CString::new(text).unwrap(), ptr::null_mut());
    (unsafe { cuModuleLoadData(&raw mut module, text.as_ptr().cast()) }, module)
}

fn kernel(name: &str) -> CUfunction {
    let (code, module) = load(PTX);
    ok(code);
    let (name, mut function) = (CString::new(name).unwrap(), ptr::null_mut());
    unsafe { ok(cuModuleGetFunction(&raw mut function, module, name.as_ptr())) };
    function
}

fn launch(f: CUfunction, grid: u32, block: u32, shared: u32, stream: CUstream, args: &mut [*mut c_void]) -> CUresult {
    unsafe { cuLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, stream, args.as_mut_ptr(), ptr::null_mut()) }
}

/// Pointers to values, as the driver wants them.
macro_rules! args {
    ($($value:expr),*) => { &mut [$((&raw const $value).cast_mut().cast::<c_void>()),*] };
}

#[test]
fn a_kernel_runs_in_stream_order() {
    let fake = Fake::new();
    let (stream, n) = (fake.stream(), 1000u32);
    let (dev, host) = (fake.alloc(4000, stream), fake.pinned(4000).cast::<f32>());
    (0..1000).for_each(|i| unsafe { host.add(i).write(i as f32) });
    fake.up(dev, host.cast(), 4000, stream);
    let (f, factor) = (kernel("scale"), 2.5f32);
    ok(launch(f, 4, 256, 0, stream, args![dev, factor, n]));
    fake.down(host.cast(), dev, 4000, stream);
    fake.sync(stream);
    assert!((0..1000).all(|i| unsafe { host.add(i).read() } == i as f32 * 2.5));
    fake.free(dev, stream);
    fake.sync(stream);
    fake.free_host(host.cast());
    clean();
}

#[test]
fn parameters_and_limits_are_known() {
    let fake = Fake::new();
    let (stream, f) = (fake.stream(), kernel("scale"));
    let (mut offset, mut size) = (0, 0);
    let mut found = Vec::new();
    while unsafe { cuFuncGetParamInfo(f, found.len(), &raw mut offset, &raw mut size) } == 0 {
        found.push((offset, size));
    }
    assert_eq!(found, [(0, 8), (8, 4), (12, 4)]);
    let mut threads = 0;
    unsafe { ok(cuFuncGetAttribute(&raw mut threads, 0, f)) };
    assert_eq!(threads, 256);
    let dev = fake.alloc(64, stream);
    let (factor, n) = (1f32, 1u32);
    assert_eq!(launch(f, 1, 257, 0, stream, args![dev, factor, n]), INVALID_VALUE);
    assert_eq!(launch(f, 0, 1, 0, stream, args![dev, factor, n]), INVALID_VALUE);
    assert_eq!(launch(f, 1, 2048, 0, stream, args![dev, factor, n]), INVALID_VALUE);
    assert_eq!(launch(f, 1, 1, 49 << 10, stream, args![dev, factor, n]), INVALID_VALUE);
    clean();
    let null = unsafe { cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, ptr::null_mut(), ptr::null_mut()) };
    assert_eq!((null, reports("bad launch")), (INVALID_VALUE, 1));
    assert_eq!(launch(stream.cast(), 1, 1, 0, stream, args![dev]), INVALID_HANDLE);
    let cooperative =
        unsafe { cuLaunchCooperativeKernel(f, 1000, 1, 1, 256, 1, 1, 0, stream, args![dev, factor, n].as_mut_ptr()) };
    assert_eq!(cooperative, COOPERATIVE_LAUNCH_TOO_LARGE);
    // All parameters in one buffer.
    let (mut packed, mut len) = ([0u8; 16], 16usize);
    packed[..8].copy_from_slice(&dev.to_le_bytes());
    let mut extra: [*mut c_void; 5] = [
        ptr::without_provenance_mut(1),
        packed.as_mut_ptr().cast(),
        ptr::without_provenance_mut(2),
        (&raw mut len).cast(),
        ptr::null_mut(),
    ];
    unsafe { ok(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, ptr::null_mut(), extra.as_mut_ptr())) };
    fake.sync(stream);
}

#[test]
fn shared_memory_and_barriers() {
    let fake = Fake::new();
    let stream = fake.stream();
    let (src, dst, host) = (fake.alloc(512, stream), fake.alloc(4, stream), fake.pinned(512).cast::<u32>());
    (0..128).for_each(|i| unsafe { host.add(i).write(i as u32) });
    fake.up(src, host.cast(), 512, stream);
    let (f, sync) = (kernel("block_sum"), 1u32);
    ok(launch(f, 1, 128, 0, stream, args![src, dst, sync]));
    fake.down(host.cast(), dst, 4, stream);
    fake.sync(stream);
    assert_eq!(unsafe { host.read() }, 127 * 64);
    clean();
    let sync = 0u32;
    ok(launch(f, 1, 128, 0, stream, args![src, dst, sync]));
    fake.sync(stream);
    only("race");
    assert!(text().contains("shared memory"), "{}", text());
}

#[test]
fn shuffles_votes_atomics_and_dynamic_shared_memory() {
    let fake = Fake::new();
    let stream = fake.stream();
    let (dst, host) = (fake.alloc(12, stream), fake.pinned(12).cast::<u32>());
    fake.fill(dst, 0, 12, stream);
    ok(launch(kernel("warp_sum"), 3, 32, 16, stream, args![dst]));
    fake.down(host.cast(), dst, 12, stream);
    fake.sync(stream);
    assert_eq!(unsafe { [host.read(), host.add(1).read(), host.add(2).read()] }, [3 * 496, 496, 0b111]);
    clean();
}

#[test]
fn vectors_structs_local_memory() {
    #[repr(C)]
    struct All {
        src: CUdeviceptr,
        dst: CUdeviceptr,
        n: i16,
    }
    let fake = Fake::new();
    let stream = fake.stream();
    let (src, dst, host) = (fake.alloc(16, stream), fake.alloc(24, stream), fake.pinned(24));
    unsafe { host.cast::<[f32; 4]>().write([2.0, 3.0, 4.0, 20.0]) };
    fake.up(src, host, 16, stream);
    let all = All { src, dst, n: 7 };
    ok(launch(kernel("mixed"), 1, 1, 0, stream, args![all]));
    fake.sync(stream);
    fake.down(host, dst, 21, stream);
    fake.sync(stream);
    unsafe {
        assert_eq!(host.cast::<[f32; 2]>().read(), [19.0, 19.0]);
        assert_eq!(host.cast::<u32>().add(2).cast::<[u32; 2]>().read(), [1, 2]);
        assert_eq!(host.cast::<i32>().add(4).read(), -3);
        assert_eq!(host.add(20).read(), -3i8 as u8);
    }
    clean();
}

#[test]
fn threads_that_race() {
    let fake = Fake::new();
    let stream = fake.stream();
    let dst = fake.alloc(4, stream);
    ok(launch(kernel("everyone_writes"), 1, 1, 0, stream, args![dst]));
    fake.sync(stream);
    clean();
    ok(launch(kernel("everyone_writes"), 1, 2, 0, stream, args![dst]));
    fake.sync(stream);
    only("race");
    assert!(text().contains("thread 1"), "{}", text());
}

#[test]
fn a_kernel_and_another_stream() {
    let fake = Fake::new();
    let (a, b) = (fake.stream(), fake.stream());
    let (dev, host) = (fake.alloc(64, a), fake.pinned(64));
    fake.fill(dev, 0, 64, a);
    let (f, factor, n) = (kernel("scale"), 1f32, 8u32);
    fake.edge(a, b);
    ok(launch(f, 1, 32, 0, a, args![dev, factor, n]));
    fake.down(host, dev + 32, 32, b);
    fake.sync(a);
    fake.sync(b);
    clean();
    ok(launch(f, 1, 32, 0, a, args![dev, factor, n]));
    let dev_end = dev + 28;
    fake.down(host, dev_end, 4, b);
    fake_cuda_finish();
    only("race");
}

#[test]
fn a_kernel_that_uses_pinned_memory_which_is_freed_early() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let (f, factor, n) = (kernel("scale"), 1f32, 8u32);
    ok(launch(f, 1, 32, 0, stream, args![host, factor, n]));
    fake.free_host(host);
    only("free in use");
}

#[test]
fn a_bad_access_fails_the_context() {
    let fake = Fake::new();
    let (stream, f) = (fake.stream(), kernel("scale"));
    let dev = fake.alloc(64, stream);
    let (factor, n) = (1f32, 17u32);
    ok(launch(f, 1, 32, 0, stream, args![dev, factor, n]));
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, ILLEGAL_ADDRESS);
    only("not allocated");
    assert_eq!(unsafe { cuMemsetD8Async(dev, 0, 1, stream) }, ILLEGAL_ADDRESS);
    assert_eq!(unsafe { cuCtxSynchronize() }, ILLEGAL_ADDRESS);
    // A new primary context works.
    unsafe {
        ok(cuDevicePrimaryCtxReset_v2(0));
        let mut ctx = ptr::null_mut();
        ok(cuDevicePrimaryCtxRetain(&raw mut ctx, 0));
        ok(cuCtxSetCurrent(ctx));
    }
    let stream = fake.stream();
    let dev = fake.alloc(64, stream);
    fake.free(dev, stream);
    let f = kernel("scale");
    ok(launch(f, 1, 32, 0, stream, args![dev, factor, n]));
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, ILLEGAL_ADDRESS);
    assert_eq!(reports("use after free"), 1, "{}", text());
}

#[test]
fn a_trap_fails_the_context_and_skips_what_is_behind() {
    let fake = Fake::new();
    let (stream, host) = (fake.stream(), fake.pinned(64));
    let dev = fake.alloc(64, stream);
    ok(launch(kernel("trap_here"), 1, 1, 0, stream, &mut []));
    fake.up(dev, host, 64, stream);
    assert_eq!(unsafe { cuStreamSynchronize(stream) }, LAUNCH_FAILED);
    assert_eq!(unsafe { cuStreamQuery(stream) }, LAUNCH_FAILED);
    clean();
}

#[test]
fn what_is_not_known_is_refused() {
    let _fake = Fake::new();
    let body = |line: &str| {
        format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() {{ .reg .b32 %r<4>; .reg .pred %p; {line} ret; }}"
        )
    };
    assert_eq!(load(&body("mov.u32 %r1, %tid.x;")).0, 0);
    for line in [
        "dp4a.u32.u32 %r1, %r2, %r3, %r1;",
        "call foo;",
        "mov.u32 %r9, 1;",
        "bra NOWHERE;",
        "add.cc.u32 %r1, %r2, %r3;",
        "mov.u32",
    ] {
        assert_eq!(load(&body(line)).0, INVALID_PTX, "{line}");
    }
    assert_eq!(load("").0, INVALID_PTX);
    let (_, module) = load(PTX);
    let mut function = ptr::null_mut();
    unsafe {
        assert_eq!(cuModuleGetFunction(&raw mut function, module, c"nothing".as_ptr()), NOT_FOUND);
        ok(cuModuleGetFunction(&raw mut function, module, c"scale".as_ptr()));
        ok(cuModuleUnload(module));
        assert_eq!(cuModuleGetFunction(&raw mut function, module, c"scale".as_ptr()), INVALID_HANDLE);
        let mut value = 0;
        assert_eq!(cuFuncGetAttribute(&raw mut value, 0, function), INVALID_HANDLE);
    }
    assert_eq!(reports("bad handle"), 2);
}
