//! What the fake driver tells about itself. It is looked for while the program runs, since a real driver has none of it.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::process::Command;
use std::ptr;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in a zero; null asks for the program's own symbols.
    let found = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Whether this runs on the fake driver. Where it does not, it says that the rest of a test is skipped.
#[must_use]
pub fn is_here() -> bool {
    let here = find(c"fake_cuda_count").is_some();
    if !here {
        println!("skipped: this is not the fake driver");
    }
    here
}

/// Calls of a driver function so far (`*`: of all); 0 on a real driver.
#[must_use]
pub fn calls(name: &str) -> u64 {
    let Some(found) = find(c"fake_cuda_count") else { return 0 };
    // SAFETY: the fake driver exports this function with this signature.
    let count = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> u64>(found) };
    let name = CString::new(name).expect("a name without a zero");
    // SAFETY: the name ends in a zero.
    unsafe { count(name.as_ptr()) }
}

/// Allocations of device memory that are not freed; 0 on a real driver.
#[must_use]
pub fn live_allocations() -> usize {
    let Some(found) = find(c"fake_cuda_live_allocations") else { return 0 };
    // SAFETY: the fake driver exports this function with this signature.
    let count = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> usize>(found) };
    count()
}

/// Makes the `nth` call of a driver function from now on answer `code` instead of doing its work; nothing on a real driver.
pub fn fail(name: &str, nth: u64, code: i32) {
    let Some(found) = find(c"fake_cuda_set_fail") else { return };
    // SAFETY: the fake driver exports this function with this signature.
    let set = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char, u64, c_int)>(found) };
    let name = CString::new(name).expect("a name without a zero");
    // SAFETY: the name ends in a zero.
    unsafe { set(name.as_ptr(), nth, code) };
}

/// The driver calls that `f` makes, a line each; none on a real driver.
pub fn log(f: impl FnOnce()) -> Vec<String> {
    let (Some(set), Some(get)) = (find(c"fake_cuda_set_log"), find(c"fake_cuda_log")) else { return Vec::new() };
    // SAFETY: the fake driver exports these functions with these signatures.
    let (set, get) = unsafe {
        (
            std::mem::transmute::<*mut c_void, extern "C" fn(c_int)>(set),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_char, usize) -> usize>(get),
        )
    };
    set(1);
    f();
    // SAFETY: null asks for the length.
    let len = unsafe { get(ptr::null_mut(), 0) };
    let mut text = vec![0u8; len + 1];
    // SAFETY: the buffer has the length that is passed.
    unsafe { get(text.as_mut_ptr().cast(), text.len()) };
    set(0);
    text.truncate(len);
    String::from_utf8(text).expect("text").lines().map(str::to_owned).collect()
}

/// Runs one test of the calling program in a process of its own, with the fake driver told to be otherwise. `None` where
/// that is done, or not possible; `Some` in that process.
///
/// # Panics
/// If that process fails.
#[must_use]
#[track_caller]
pub fn alone(test: &str, settings: &[(&str, &str)]) -> Option<()> {
    if env::var_os("ESCROW_CUDA_ALONE").is_some() {
        return Some(());
    }
    if crate::gpu().is_some() && is_here() {
        let child = Command::new(env::current_exe().expect("this program"))
            .args([test, "--exact", "--nocapture"])
            .env("ESCROW_CUDA_ALONE", "1")
            // As a real driver is, but for what the test sets.
            .env_remove("FAKE_CUDA_POOLS")
            .env_remove("FAKE_CUDA_STRICT")
            .env_remove("FAKE_CUDA_DELAY")
            .envs(settings.iter().copied())
            .output()
            .expect("this program starts");
        let (said, wrong) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success(), "{settings:?}: {said}{wrong}");
    }
    None
}
