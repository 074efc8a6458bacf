//! The C side: handle types, result codes and attribute numbers, as in CUDA 11.4's `cuda.h` (the version of
//! `cust_raw`). Enumerations are plain integers here, so that no caller's value can be invalid.

use std::ffi::{c_int, c_void};

/// A result code.
pub type CUresult = c_int;
/// A device ordinal.
pub type CUdevice = c_int;
/// An address of device memory, or of pinned host memory.
pub type CUdeviceptr = u64;

macro_rules! handles {
    ($($name:ident = $opaque:ident, $what:literal;)*) => {$(
        #[doc = concat!("What a handle of ", $what, " points to; never looked at.")]
        #[repr(C)]
        #[derive(Debug)]
        pub struct $opaque {
            _private: [u8; 0],
        }
        #[doc = concat!("A handle of ", $what, ".")]
        pub type $name = *mut $opaque;
    )*};
}

handles! {
    CUcontext = CUctx_st, "a context";
    CUstream = CUstream_st, "a stream";
    CUevent = CUevent_st, "an event";
    CUmodule = CUmod_st, "a module";
    CUfunction = CUfunc_st, "a kernel";
    CUmemoryPool = CUmemPoolHandle_st, "a memory pool";
}

/// A host function that a stream calls.
pub type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;
/// A callback of the older kind.
pub type CUstreamCallback = Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>;
/// Gives the dynamic shared memory of a block size.
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(c_int) -> usize>;

/// A device's identity.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUuuid {
    /// Its bytes.
    pub bytes: [u8; 16],
}

/// What a pool is created with.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUmemPoolProps {
    /// Pinned (1).
    pub alloc_type: c_int,
    /// Kinds of handles it exports.
    pub handle_types: c_int,
    /// Kind of place: device (1).
    pub location_type: c_int,
    /// Ordinal of the device.
    pub location_id: c_int,
    /// Unused here.
    pub security: *mut c_void,
    /// Unused here.
    pub reserved: [u8; 64],
}

/// Who may use a pool's memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUmemAccessDesc {
    /// Kind of place: device (1).
    pub location_type: c_int,
    /// Ordinal of the device.
    pub location_id: c_int,
    /// 0 none, 1 read, 3 read and write.
    pub flags: c_int,
}

/// The extended launch's parameters (CUDA 12's `CUlaunchConfig`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CUlaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory.
    pub shared_bytes: u32,
    /// The stream.
    pub stream: CUstream,
    /// Attributes; not looked at.
    pub attributes: *mut c_void,
    /// How many attributes.
    pub attribute_count: u32,
}

macro_rules! codes {
    ($($value:literal $name:ident $text:literal;)*) => {
        $(#[doc = $text] pub const $name: CUresult = $value;)*
        /// Name (with its final zero) and text of a code.
        pub(crate) fn describe(code: CUresult) -> Option<(&'static str, &'static str)> {
            match code {
                0 => Some(("CUDA_SUCCESS\0", "no error\0")),
                $($value => Some((concat!("CUDA_ERROR_", stringify!($name), "\0"), concat!($text, "\0"))),)*
                _ => None,
            }
        }
    };
}

/// No error.
pub const SUCCESS: CUresult = 0;
codes! {
    1 INVALID_VALUE "invalid argument";
    2 OUT_OF_MEMORY "out of memory";
    3 NOT_INITIALIZED "initialization error";
    4 DEINITIALIZED "driver shutting down";
    100 NO_DEVICE "no CUDA-capable device is detected";
    101 INVALID_DEVICE "invalid device ordinal";
    200 INVALID_IMAGE "device kernel image is invalid";
    201 INVALID_CONTEXT "invalid device context";
    217 PEER_ACCESS_UNSUPPORTED "peer access is not supported between these two devices";
    218 INVALID_PTX "a PTX JIT compilation failed";
    301 FILE_NOT_FOUND "file not found";
    304 OPERATING_SYSTEM "OS call failed or operation not supported on this OS";
    400 INVALID_HANDLE "invalid resource handle";
    500 NOT_FOUND "named symbol not found";
    600 NOT_READY "device not ready";
    700 ILLEGAL_ADDRESS "an illegal memory access was encountered";
    701 LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch";
    702 LAUNCH_TIMEOUT "the launch timed out and was terminated";
    704 PEER_ACCESS_ALREADY_ENABLED "peer access is already enabled";
    705 PEER_ACCESS_NOT_ENABLED "peer access has not been enabled";
    709 CONTEXT_IS_DESTROYED "context is destroyed";
    712 HOST_MEMORY_ALREADY_REGISTERED "part or all of the requested memory range is already mapped";
    713 HOST_MEMORY_NOT_REGISTERED "pointer does not correspond to a registered memory region";
    716 MISALIGNED_ADDRESS "misaligned address";
    719 LAUNCH_FAILED "unspecified launch failure";
    720 COOPERATIVE_LAUNCH_TOO_LARGE "too many blocks in cooperative launch";
    800 NOT_PERMITTED "operation not permitted";
    801 NOT_SUPPORTED "operation not supported";
    900 STREAM_CAPTURE_UNSUPPORTED "operation not permitted when stream is capturing";
    999 UNKNOWN "unknown error";
}

/// Stream flag: does not synchronise with the NULL stream.
pub const STREAM_NON_BLOCKING: u32 = 1;
/// Event flag: no time stamps.
pub const EVENT_DISABLE_TIMING: u32 = 2;
