//! The shared object exports every symbol that `cust_raw` 0.11.3 declares, and bears the driver's name.
#![cfg(target_os = "linux")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `target/debug/deps/libcuda.so`, next to this test.
fn library() -> PathBuf {
    let mut path = std::env::current_exe().expect("this test");
    path.pop();
    let here = path.join("libcuda.so");
    if here.exists() { here } else { path.parent().expect("target/debug").join("libcuda.so") }
}

#[test]
fn all_symbols_are_there() {
    let path = library();
    let bytes = std::fs::read(&path).expect("the shared object is built with its tests");
    assert!(bytes.windows(13).any(|w| w == b"libcuda.so.1\0"), "soname");
    let name = CString::new(path.to_str().expect("text")).expect("no zero");
    // SAFETY: a library without initialisers that do anything, by its path; symbols are only looked up.
    let library = unsafe { dlopen(name.as_ptr(), 2) };
    assert!(!library.is_null());
    let names: Vec<_> = include_str!("symbols.txt").lines().collect();
    assert_eq!(names.len(), 355);
    for name in names.into_iter().chain(["fake_cuda_reset", "fake_cuda_count"]) {
        let c_name = CString::new(name).expect("no zero");
        // SAFETY: the library is open; the name ends with a zero.
        assert!(!unsafe { dlsym(library, c_name.as_ptr()) }.is_null(), "{name}");
    }
}
