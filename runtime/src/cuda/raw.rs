//! The driver calls, and nothing else.
//!
//! Types come from `cust::sys`. The functions are declared again, for one reason: there their result is a closed Rust
//! enum, and a code that a newer driver returns would be undefined behaviour. Here it is a number.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

pub(crate) use cust::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute,
    CUmemPool_attribute, CUmemoryPool, CUmodule, CUstream,
};

/// What a driver call returned: 0 for success.
pub(crate) type Code = c_int;

pub(crate) const INVALID_VALUE: Code = 1;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_CONTEXT: Code = 201;
pub(crate) const NOT_FOUND: Code = 500;
pub(crate) const NOT_READY: Code = 600;

/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`: handles that are no streams of their own, as null is.
pub(crate) const STREAM_LEGACY: usize = 1;
pub(crate) const STREAM_PER_THREAD: usize = 2;
/// `CU_STREAM_NON_BLOCKING`: no implicit order with the legacy stream.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for all GPUs. Mapped it is by unified addressing.
pub(crate) const HOST_ALLOC_PORTABLE: c_uint = 1;
/// `CU_MEMHOSTREGISTER_PORTABLE`.
pub(crate) const HOST_REGISTER_PORTABLE: c_uint = 1;
/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`.
pub(crate) const POINTER_DEVICE_ORDINAL: c_int = 9;

#[allow(non_snake_case)]
unsafe extern "C" {
    pub(crate) fn cuInit(flags: c_uint) -> Code;
    pub(crate) fn cuDriverGetVersion(version: *mut c_int) -> Code;
    pub(crate) fn cuDeviceGetCount(count: *mut c_int) -> Code;
    pub(crate) fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> Code;
    pub(crate) fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) -> Code;
    pub(crate) fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice) -> Code;
    pub(crate) fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> Code;
    pub(crate) fn cuCtxPushCurrent_v2(context: CUcontext) -> Code;
    pub(crate) fn cuCtxGetDevice(device: *mut CUdevice) -> Code;
    pub(crate) fn cuCtxPopCurrent_v2(context: *mut CUcontext) -> Code;
    pub(crate) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code;

    pub(crate) fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) -> Code;
    pub(crate) fn cuStreamSynchronize(stream: CUstream) -> Code;
    pub(crate) fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) -> Code;
    pub(crate) fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext) -> Code;
    pub(crate) fn cuStreamIsCapturing(stream: CUstream, status: *mut c_int) -> Code;
    pub(crate) fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Code;

    pub(crate) fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> Code;
    pub(crate) fn cuEventRecord(event: CUevent, stream: CUstream) -> Code;
    pub(crate) fn cuEventQuery(event: CUevent) -> Code;
    pub(crate) fn cuEventSynchronize(event: CUevent) -> Code;
    pub(crate) fn cuEventDestroy_v2(event: CUevent) -> Code;

    pub(crate) fn cuMemAlloc_v2(ptr: *mut CUdeviceptr, bytes: usize) -> Code;
    pub(crate) fn cuMemFree_v2(ptr: CUdeviceptr) -> Code;
    pub(crate) fn cuMemAllocAsync(ptr: *mut CUdeviceptr, bytes: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemFreeAsync(ptr: CUdeviceptr, stream: CUstream) -> Code;
    pub(crate) fn cuMemHostAlloc(ptr: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code;
    pub(crate) fn cuMemFreeHost(ptr: *mut c_void) -> Code;
    pub(crate) fn cuMemHostRegister_v2(ptr: *mut c_void, bytes: usize, flags: c_uint) -> Code;
    pub(crate) fn cuMemHostUnregister(ptr: *mut c_void) -> Code;
    pub(crate) fn cuPointerGetAttribute(value: *mut c_void, attribute: c_int, ptr: CUdeviceptr) -> Code;
    pub(crate) fn cuDeviceGetDefaultMemPool(pool: *mut CUmemoryPool, device: CUdevice) -> Code;
    pub(crate) fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) -> Code;
    pub(crate) fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void)
    -> Code;
    pub(crate) fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void)
    -> Code;

    pub(crate) fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemcpyHtoDAsync_v2(dst: CUdeviceptr, src: *const c_void, bytes: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemcpyDtoDAsync_v2(dst: CUdeviceptr, src: CUdeviceptr, bytes: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemcpyPeerAsync(
        dst: CUdeviceptr,
        dst_context: CUcontext,
        src: CUdeviceptr,
        src_context: CUcontext,
        bytes: usize,
        stream: CUstream,
    ) -> Code;
    pub(crate) fn cuMemsetD8Async(dst: CUdeviceptr, value: u8, count: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemsetD16Async(dst: CUdeviceptr, value: u16, count: usize, stream: CUstream) -> Code;
    pub(crate) fn cuMemsetD32Async(dst: CUdeviceptr, value: u32, count: usize, stream: CUstream) -> Code;

    pub(crate) fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> Code;
    pub(crate) fn cuModuleUnload(module: CUmodule) -> Code;
    pub(crate) fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> Code;
    pub(crate) fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) -> Code;
    pub(crate) fn cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction) -> Code;
    pub(crate) fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int) -> Code;
    pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block: c_int,
        shared: usize,
    ) -> Code;
    pub(crate) fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Code;

    pub(crate) fn cuGetErrorName(code: Code, name: *mut *const c_char) -> Code;
    pub(crate) fn cuGetErrorString(code: Code, text: *mut *const c_char) -> Code;
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared: c_uint,
    pub(crate) stream: CUstream,
    pub(crate) attributes: *mut LaunchAttribute,
    pub(crate) count: c_uint,
}

/// `CUlaunchAttribute`: a number, and behind its padding a union of 64 bytes, of which ours are numbers at the start.
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: c_int,
    padding: [u8; 4],
    value: [c_uint; 16],
}

const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
    pub(crate) const COOPERATIVE: LaunchAttribute = LaunchAttribute::new(2, [1, 0, 0]);

    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
    pub(crate) const fn cluster(blocks: [u32; 3]) -> LaunchAttribute {
        LaunchAttribute::new(4, blocks)
    }

    const fn new(id: c_int, [x, y, z]: [u32; 3]) -> LaunchAttribute {
        let mut value = [0; 16];
        (value[0], value[1], value[2]) = (x, y, z);
        LaunchAttribute { id, padding: [0; 4], value }
    }
}

type LaunchKernelEx =
    unsafe extern "C" fn(*const LaunchConfig, CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void) -> Code;
type FuncGetParamInfo = unsafe extern "C" fn(CUfunction, index: usize, offset: *mut usize, size: *mut usize) -> Code;

/// `cuLaunchKernelEx`, of drivers from 11.8 on. A program that needs it to start would not start on older ones.
pub(crate) fn launch_kernel_ex() -> Option<LaunchKernelEx> {
    static FOUND: OnceLock<Option<LaunchKernelEx>> = OnceLock::new();
    // SAFETY: a function of the driver with this signature, or null, which is `None`.
    *FOUND.get_or_init(|| unsafe { std::mem::transmute(symbol(c"cuLaunchKernelEx")) })
}

/// `cuFuncGetParamInfo`, of drivers from 12.4 on.
pub(crate) fn func_get_param_info() -> Option<FuncGetParamInfo> {
    static FOUND: OnceLock<Option<FuncGetParamInfo>> = OnceLock::new();
    // SAFETY: as above.
    *FOUND.get_or_init(|| unsafe { std::mem::transmute(symbol(c"cuFuncGetParamInfo")) })
}

/// The address of a function of the libraries that the program is linked with, or null.
#[cfg(target_os = "linux")]
fn symbol(name: &CStr) -> *mut c_void {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: null is `RTLD_DEFAULT`, and the name ends in a zero.
    unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) }
}

#[cfg(not(target_os = "linux"))]
fn symbol(_: &CStr) -> *mut c_void {
    std::ptr::null_mut()
}
