//! NVSHMEM's host library, loaded when a job starts, and nothing else.
//!
//! The structs are those of version 1, which every library from 3.4.5 on takes.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::sync::Mutex;

use libloading::Library;

use crate::cpu::sync::lock;

pub(crate) type Stream = *mut c_void;
pub(crate) type Team = i32;

/// `NVSHMEMX_INIT_WITH_UNIQUEID`.
pub(crate) const INIT_WITH_UNIQUEID: c_uint = 8;
/// `NVSHMEMX_INIT_STATUS`: the heap is there.
pub(crate) const IS_INITIALIZED: c_int = 2;
/// Several PEs share a GPU without MPS: no collectives, no waits for signals.
pub(crate) const LIMITED_MPG: c_int = 3;
pub(crate) const SIGNAL_SET: c_int = 9;
pub(crate) const SIGNAL_ADD: c_int = 10;
pub(crate) const TEAM_WORLD: Team = 0;
pub(crate) const TEAM_NODE: Team = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UniqueId {
    pub(crate) version: c_int,
    pub(crate) internal: [c_char; 124],
}

#[repr(C)]
pub(crate) struct UniqueIdArgs {
    pub(crate) version: c_int,
    pub(crate) id: *const UniqueId,
    pub(crate) rank: c_int,
    pub(crate) ranks: c_int,
}

#[repr(C)]
pub(crate) struct InitArgs {
    pub(crate) version: c_int,
    pub(crate) uid: UniqueIdArgs,
    pub(crate) content: [u8; 96],
}

#[repr(C)]
pub(crate) struct InitAttr {
    pub(crate) version: c_int,
    pub(crate) mpi_comm: *mut c_void,
    pub(crate) args: InitArgs,
}

#[repr(C)]
pub(crate) struct TeamConfig {
    pub(crate) version: c_int,
    pub(crate) num_contexts: c_int,
    pub(crate) uniqueid: u64,
    pub(crate) padding: [u8; 48],
}

const _: () = assert!(size_of::<UniqueId>() == 128 && size_of::<InitArgs>() == 128 && size_of::<InitAttr>() == 144);
const _: () = assert!(size_of::<TeamConfig>() == 64);

pub(crate) const VERSION_UNIQUEID: c_int = 0x0001_0080;
pub(crate) const VERSION_UNIQUEID_ARGS: c_int = 0x0001_0018;
pub(crate) const VERSION_INIT_ARGS: c_int = 0x0001_0080;
pub(crate) const VERSION_INIT_ATTR: c_int = 0x0001_0090;
pub(crate) const VERSION_TEAM_CONFIG: c_int = 0x0002_0040;

/// A reduction on a stream: team, destination, source, elements, stream.
pub(crate) type ReduceFn = unsafe extern "C" fn(Team, *mut c_void, *const c_void, usize, Stream) -> c_int;

macro_rules! api {
    ($($field:ident = $name:literal: fn($($arg:ty),*) $(-> $ret:ty)?;)+) => {
        /// The library's functions.
        pub(crate) struct Api {
            library: Library,
            reductions: Mutex<HashMap<String, ReduceFn>>,
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)+
        }

        impl Api {
            /// # Safety
            /// `library` is NVSHMEM's host library, of version 3.
            pub(crate) unsafe fn of(library: Library) -> Result<Api, libloading::Error> {
                // SAFETY: the functions have these types in NVSHMEM 3 (caller's duty); they stay loaded as long as `library`,
                // which the value holds.
                unsafe {
                    Ok(Api {
                        $($field: *library.get(concat!($name, "\0").as_bytes())?,)+
                        reductions: Mutex::new(HashMap::new()),
                        library,
                    })
                }
            }
        }
    };
}

api! {
    init_attr = "nvshmemx_hostlib_init_attr": fn(c_uint, *mut InitAttr) -> c_int;
    finalize = "nvshmemx_hostlib_finalize": fn();
    init_status = "nvshmemx_init_status": fn() -> c_int;
    cumodule_init = "nvshmemx_cumodule_init": fn(*mut c_void) -> c_int;
    get_uniqueid = "nvshmemx_get_uniqueid": fn(*mut UniqueId) -> c_int;
    set_uniqueid_args = "nvshmemx_set_attr_uniqueid_args": fn(c_int, c_int, *const UniqueId, *mut InitAttr) -> c_int;
    vendor_version = "nvshmemx_vendor_get_version_info": fn(*mut c_int, *mut c_int, *mut c_int);
    my_pe = "nvshmem_my_pe": fn() -> c_int;
    n_pes = "nvshmem_n_pes": fn() -> c_int;
    malloc = "nvshmem_malloc": fn(usize) -> *mut c_void;
    free = "nvshmem_free": fn(*mut c_void);
    ptr = "nvshmem_ptr": fn(*const c_void, c_int) -> *mut c_void;
    signal_fetch = "nvshmem_signal_fetch": fn(*mut u64) -> u64;
    putmem = "nvshmemx_putmem_on_stream": fn(*mut c_void, *const c_void, usize, c_int, Stream);
    getmem = "nvshmemx_getmem_on_stream": fn(*mut c_void, *const c_void, usize, c_int, Stream);
    putmem_signal = "nvshmemx_putmem_signal_on_stream":
        fn(*mut c_void, *const c_void, usize, *mut u64, u64, c_int, c_int, Stream);
    signal_op = "nvshmemx_signal_op_on_stream": fn(*mut u64, u64, c_int, c_int, Stream);
    signal_wait = "nvshmemx_signal_wait_until_on_stream": fn(*mut u64, c_int, u64, Stream);
    quiet = "nvshmemx_quiet_on_stream": fn(Stream);
    barrier_all = "nvshmemx_barrier_all_on_stream": fn(Stream);
    barrier = "nvshmemx_barrier_on_stream": fn(Team, Stream) -> c_int;
    broadcast = "nvshmemx_broadcastmem_on_stream": fn(Team, *mut c_void, *const c_void, usize, c_int, Stream) -> c_int;
    fcollect = "nvshmemx_fcollectmem_on_stream": fn(Team, *mut c_void, *const c_void, usize, Stream) -> c_int;
    alltoall = "nvshmemx_alltoallmem_on_stream": fn(Team, *mut c_void, *const c_void, usize, Stream) -> c_int;
    split_strided = "nvshmem_team_split_strided":
        fn(Team, c_int, c_int, c_int, *const TeamConfig, c_long, *mut Team) -> c_int;
    split_2d = "nvshmem_team_split_2d":
        fn(Team, c_int, *const TeamConfig, c_long, *mut Team, *const TeamConfig, c_long, *mut Team) -> c_int;
    translate = "nvshmem_team_translate_pe": fn(Team, c_int, Team) -> c_int;
}

impl Api {
    /// Tells the library of a module whose kernels call it. 0 if it took it.
    ///
    /// # Safety
    /// The library is started, and `module` is a `CUmodule` of this GPU's context, which is the thread's own.
    pub(crate) unsafe fn init_module(&self, module: *mut c_void) -> c_int {
        // SAFETY: the caller's duty.
        unsafe { (self.cumodule_init)(module) }
    }

    /// The function `nvshmemx_<elem>_<op>_<kind>_on_stream`; `None` if the library has none such.
    pub(crate) fn reduction(&self, elem: &str, op: &str, kind: &str) -> Option<ReduceFn> {
        let name = format!("nvshmemx_{elem}_{op}_{kind}_on_stream\0");
        let mut known = lock(&self.reductions);
        if let Some(function) = known.get(&name) {
            return Some(*function);
        }
        // SAFETY: all functions of this name have this type, but for the type of the elements that the pointers name.
        let function = *unsafe { self.library.get::<ReduceFn>(name.as_bytes()) }.ok()?;
        known.insert(name, function);
        Some(function)
    }
}
