//! A driver of one's own for the time of a test, and safe-looking short forms of its calls.
#![allow(
    clippy::unused_self,
    clippy::new_without_default,
    reason = "methods, so that nothing is called without a driver"
)]
#![allow(dead_code, unused_imports, reason = "each test file uses some of it")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "one contract for all: handles and pointers of this test, alive")]

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda::abi::*;
pub use cuda::api::{
    alloc::*, context::*, copy::*, device::*, event::*, fill::*, host::*, launch::*, module::*, pointer::*, pool::*,
    stream::*,
};
pub use cuda::control::*;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The driver, new, with its primary context current. Reports are collected.
pub struct Fake {
    pub ctx: CUcontext,
    _turn: MutexGuard<'static, ()>,
}

pub fn ok(code: CUresult) {
    assert_eq!(code, 0, "{}", text());
}

/// Reports so far.
pub fn text() -> String {
    let mut bytes = vec![0u8; 1 << 16];
    let len = unsafe { fake_cuda_report_text(bytes.as_mut_ptr().cast(), bytes.len()) };
    String::from_utf8_lossy(&bytes[..len.min(bytes.len())]).into_owned()
}

pub fn log() -> String {
    let mut bytes = vec![0u8; 1 << 16];
    let len = unsafe { fake_cuda_log(bytes.as_mut_ptr().cast(), bytes.len()) };
    String::from_utf8_lossy(&bytes[..len.min(bytes.len())]).into_owned()
}

pub fn reports(kind: &str) -> usize {
    let kind = CString::new(kind).unwrap();
    unsafe { fake_cuda_report_count(kind.as_ptr()) }
}

pub fn count(name: &str) -> u64 {
    let name = CString::new(name).unwrap();
    unsafe { fake_cuda_count(name.as_ptr()) }
}

pub fn fail(name: &str, nth: u64, code: CUresult) {
    let name = CString::new(name).unwrap();
    unsafe { fake_cuda_set_fail(name.as_ptr(), nth, code) }
}

pub fn fail_as(name: &str, nth: u64, code: CUresult, after: bool, sticky: bool) {
    let name = CString::new(name).unwrap();
    unsafe { fake_cuda_set_fail_as(name.as_ptr(), nth, code, i32::from(after), i32::from(sticky)) }
}

/// Exactly one report, of this kind.
#[track_caller]
pub fn only(kind: &str) {
    let all = unsafe { fake_cuda_report_count(ptr::null()) };
    assert!(all == 1 && reports(kind) == 1, "expected one `{kind}`, got {all}:\n{}", text());
}

#[track_caller]
pub fn clean() {
    let all = unsafe { fake_cuda_report_count(ptr::null()) };
    assert_eq!(all, 0, "{}", text());
}

// SAFETY: the context is a handle, not memory; the turn is only held.
unsafe impl Sync for Fake {}

impl Fake {
    pub fn new() -> Self {
        Self::with_devices(1)
    }

    pub fn with_devices(devices: usize) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        fake_cuda_set_delay(0);
        fake_cuda_wipe();
        fake_cuda_set_abort(0);
        fake_cuda_set_devices(devices);
        unsafe {
            ok(cuInit(0));
            let mut ctx = ptr::null_mut();
            ok(cuDevicePrimaryCtxRetain(&raw mut ctx, 0));
            ok(cuCtxSetCurrent(ctx));
            Self { ctx, _turn: turn }
        }
    }

    pub fn stream(&self) -> CUstream {
        let mut stream = ptr::null_mut();
        unsafe { ok(cuStreamCreate(&raw mut stream, STREAM_NON_BLOCKING)) };
        stream
    }

    pub fn event(&self) -> CUevent {
        let mut event = ptr::null_mut();
        unsafe { ok(cuEventCreate(&raw mut event, EVENT_DISABLE_TIMING)) };
        event
    }

    pub fn alloc(&self, bytes: usize, stream: CUstream) -> CUdeviceptr {
        let mut address = 0;
        unsafe { ok(cuMemAllocAsync(&raw mut address, bytes, stream)) };
        address
    }

    pub fn pinned(&self, bytes: usize) -> *mut u8 {
        let mut address: *mut c_void = ptr::null_mut();
        unsafe { ok(cuMemHostAlloc(&raw mut address, bytes, 0)) };
        address.cast()
    }

    pub fn up(&self, dst: CUdeviceptr, src: *const u8, bytes: usize, stream: CUstream) {
        unsafe { ok(cuMemcpyHtoDAsync_v2(dst, src.cast(), bytes, stream)) };
    }

    pub fn down(&self, dst: *mut u8, src: CUdeviceptr, bytes: usize, stream: CUstream) {
        unsafe { ok(cuMemcpyDtoHAsync_v2(dst.cast(), src, bytes, stream)) };
    }

    pub fn fill(&self, dst: CUdeviceptr, value: u8, bytes: usize, stream: CUstream) {
        unsafe { ok(cuMemsetD8Async(dst, value, bytes, stream)) };
    }

    pub fn sync(&self, stream: CUstream) {
        unsafe { ok(cuStreamSynchronize(stream)) };
    }

    /// An edge from one stream to another.
    pub fn edge(&self, from: CUstream, to: CUstream) {
        let event = self.event();
        unsafe {
            ok(cuEventRecord(event, from));
            ok(cuStreamWaitEvent(to, event, 0));
            ok(cuEventDestroy_v2(event));
        }
    }

    pub fn free(&self, address: CUdeviceptr, stream: CUstream) {
        unsafe { ok(cuMemFreeAsync(address, stream)) };
    }

    pub fn free_host(&self, address: *mut u8) {
        unsafe { ok(cuMemFreeHost(address.cast())) };
    }
}
