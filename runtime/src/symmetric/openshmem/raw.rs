//! The functions of Open MPI's `liboshmem` that the engine calls, as its `shmem.h` declares them, and those of the C library
//! that go with them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulong, c_void};

use libloading::os::unix::Library;

/// `SHMEM_THREAD_SERIALIZED`: several threads call, one at a time.
pub(super) const THREAD_SERIALIZED: c_int = 2;
/// `SHMEM_CMP_EQ`.
pub(super) const CMP_EQ: c_int = 0;

const _: () = assert!(size_of::<c_ulong>() == 8 && size_of::<c_uint>() == 4);

macro_rules! table {
    ($($name:ident($($arg:ty),*) $(-> $ret:ty)?;)+) => {
        /// Addresses in a library that is never unloaded.
        pub(super) struct Raw {
            $( pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?, )+
        }

        impl Raw {
            /// The functions of `library`, or the name of one that it lacks.
            ///
            /// # Safety
            /// `library` is Open MPI's `liboshmem`, and stays loaded.
            pub(super) unsafe fn of(library: &Library) -> Result<Raw, &'static str> {
                Ok(Raw { $(
                    $name: {
                        const NAME: &CStr = match CStr::from_bytes_with_nul(concat!("shmem_", stringify!($name), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("the name has one zero, at its end"),
                        };
                        // SAFETY: the type is that of the function of this name in Open MPI's `shmem.h`.
                        *unsafe { library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(NAME) }
                            .map_err(|_| concat!("shmem_", stringify!($name)))?
                    },
                )+ })
            }
        }
    };
}

table! {
    init_thread(c_int, *mut c_int) -> c_int;
    finalize();
    global_exit(c_int);
    my_pe() -> c_int;
    n_pes() -> c_int;
    barrier_all();
    align(usize, usize) -> *mut c_void;
    free(*mut c_void);
    ptr(*const c_void, c_int) -> *mut c_void;
    putmem(*mut c_void, *const c_void, usize, c_int);
    getmem(*mut c_void, *const c_void, usize, c_int);
    fence();
    quiet();
    ulong_test(*mut c_ulong, c_int, c_ulong) -> c_int;

    uint_atomic_fetch(*const c_uint, c_int) -> c_uint;
    uint_atomic_set(*mut c_uint, c_uint, c_int);
    uint_atomic_swap(*mut c_uint, c_uint, c_int) -> c_uint;
    uint_atomic_add(*mut c_uint, c_uint, c_int);
    uint_atomic_fetch_add(*mut c_uint, c_uint, c_int) -> c_uint;
    uint_atomic_and(*mut c_uint, c_uint, c_int);
    uint_atomic_or(*mut c_uint, c_uint, c_int);
    uint_atomic_xor(*mut c_uint, c_uint, c_int);

    ulong_atomic_fetch(*const c_ulong, c_int) -> c_ulong;
    ulong_atomic_set(*mut c_ulong, c_ulong, c_int);
    ulong_atomic_swap(*mut c_ulong, c_ulong, c_int) -> c_ulong;
    ulong_atomic_compare_swap(*mut c_ulong, c_ulong, c_ulong, c_int) -> c_ulong;
    ulong_atomic_add(*mut c_ulong, c_ulong, c_int);
    ulong_atomic_fetch_add(*mut c_ulong, c_ulong, c_int) -> c_ulong;
    ulong_atomic_and(*mut c_ulong, c_ulong, c_int);
    ulong_atomic_or(*mut c_ulong, c_ulong, c_int);
    ulong_atomic_xor(*mut c_ulong, c_ulong, c_int);
}

unsafe extern "C" {
    /// Ends the process at once: no handlers, no destructors.
    pub(super) safe fn _exit(status: c_int) -> !;
    /// `f` runs when the process ends, before what was registered earlier.
    pub(super) safe fn atexit(f: extern "C" fn()) -> c_int;
    /// A file without a name.
    #[cfg(target_os = "linux")]
    pub(super) fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
}
#[cfg(not(target_os = "linux"))]
const _: Option<c_char> = None;
