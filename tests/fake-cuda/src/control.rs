//! What tests ask of the fake itself, in C so that a program that links `-lcuda` can find them with `dlsym`.

use std::ffi::{CStr, c_char, c_int};

use crate::abi::CUresult;
use crate::driver::Driver;
use crate::entry;
use crate::session::Session;
use crate::settings::{Fault, Settings};

fn open() -> Session {
    Session::open("fake_cuda")
}

/// Copies a text with its final zero as far as it fits; gives the length it has without the zero.
///
/// # Safety
/// `place` is null or valid for `len` bytes.
unsafe fn give(text: &str, place: *mut c_char, len: usize) -> usize {
    if !place.is_null() && len > 0 {
        let count = text.len().min(len - 1);
        // SAFETY: `count + 1 <= len`, and the caller vouches for the place.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), count);
            place.add(count).write(0);
        }
    }
    text.len()
}

/// A caller's text.
///
/// # Safety
/// `text` is null or ends with a zero.
unsafe fn take(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, so it ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Forgets counters, log, reports and injected failures. Objects, memory and the other settings stay.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_reset() {
    let mut d = open();
    d.reports.clear();
    d.log.clear();
    d.settings.faults.clear();
    (d.device_waits, d.pageable) = (0, 0);
    d.apply();
    entry::clear_counts();
}

/// As a new process: no objects, no memory, not initialised, settings from the environment. Nothing may run, and
/// handles from before are dead.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_wipe() {
    let mut d = open();
    d.run_all();
    *d = Driver::new();
    entry::clear_counts();
}

/// Runs all that is enqueued, so that it is checked. The host learns nothing by it.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_finish() {
    open().run_all();
}

/// Calls of one function so far (`*`: of all). `@device-wait`: frees that waited for a device. `@pageable`:
/// asynchronous copies from and to pageable memory.
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_count(name: *const c_char) -> u64 {
    // SAFETY: as the caller promises.
    let name = unsafe { take(name) };
    match name.as_str() {
        "*" => entry::total(),
        "@device-wait" => open().device_waits,
        "@pageable" => open().pageable,
        _ => entry::counts().into_iter().find(|(n, _)| *n == name).map_or(0, |(_, count)| count),
    }
}

/// All counts, `name count` a line. Gives the text's length.
///
/// # Safety
/// `place` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_counts(place: *mut c_char, len: usize) -> usize {
    let counts = entry::counts();
    let text = counts.iter().fold(String::new(), |text, (name, count)| text + name + " " + &count.to_string() + "\n");
    // SAFETY: as the caller promises.
    unsafe { give(&text, place, len) }
}

/// Keeps a log of calls from now on, or ends it and forgets it.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_set_log(on: c_int) {
    let mut d = open();
    d.keep_log = on != 0;
    d.log.clear();
    d.apply();
}

/// The log, a call a line: `[last operation] name(arguments) = code`. Gives the text's length.
///
/// # Safety
/// `place` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_log(place: *mut c_char, len: usize) -> usize {
    let text: String = open().log.iter().flat_map(|line| [line, "\n"]).collect();
    // SAFETY: as the caller promises.
    unsafe { give(&text, place, len) }
}

/// How many reports there are, of one kind (`race`, `use after free`, ...) or of all (null).
///
/// # Safety
/// `kind` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_report_count(kind: *const c_char) -> usize {
    // SAFETY: as the caller promises.
    let name = unsafe { take(kind) };
    open().reports.count(Some(name.as_str()).filter(|_| !kind.is_null()))
}

/// The reports, one a line. Gives the text's length.
///
/// # Safety
/// `place` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_report_text(place: *mut c_char, len: usize) -> usize {
    let text = open().reports.text();
    // SAFETY: as the caller promises.
    unsafe { give(&text, place, len) }
}

/// Whether a report ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_set_abort(on: c_int) {
    let mut d = open();
    d.settings.abort = on != 0;
    d.apply();
}

/// Makes the `nth` call of a function (`*`: of any) from now on return `code` instead of doing its work; 0: all
/// calls. Adds to what was set before; `fake_cuda_reset` takes all of them away.
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_set_fail(name: *const c_char, nth: u64, code: CUresult) {
    // SAFETY: as the caller promises.
    unsafe { fake_cuda_set_fail_as(name, nth, code, 0, 0) }
}

/// As `fake_cuda_set_fail`. `after`: the work is done all the same. `sticky`: the current context fails for good.
///
/// # Safety
/// `name` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_cuda_set_fail_as(
    name: *const c_char,
    nth: u64,
    code: CUresult,
    after: c_int,
    sticky: c_int,
) {
    // SAFETY: as the caller promises.
    let name = unsafe { take(name) };
    let mut d = open();
    d.settings.faults.push(Fault { name, nth, code, after: after != 0, sticky: sticky != 0, seen: 0 });
    d.apply();
}

/// Runs operations in the background with random delays from this seed; 0: lazily again.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_set_delay(seed: u64) {
    let mut d = open();
    d.settings.delay = Some(seed).filter(|s| *s != 0);
    d.apply();
    if seed != 0 {
        crate::schedule::start_background();
    }
    Session::changed();
}

/// How many devices there are.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_set_devices(count: usize) {
    let mut d = open();
    d.settings.devices = count;
    d.apply();
}

macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident = $field:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(on: c_int) {
            let mut d = open();
            d.settings.$field = on != 0;
            d.apply();
        }
    )*};
}

switches! {
    /// Whether devices have memory pools.
    fake_cuda_set_pools = pools;
    /// Whether every call needs the right context to be current.
    fake_cuda_set_strict = strict;
    /// Whether reads of device memory that was never written are reported.
    fake_cuda_set_initcheck = initcheck;
    /// Whether asynchronous copies from and to pageable memory are reported.
    fake_cuda_set_pinned_only = pinned_only;
    /// Whether asynchronous calls are only counted and return 0.
    fake_cuda_set_null = null;
}

/// Bytes of device memory of each device.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_set_memory(bytes: u64) {
    open().settings.memory = bytes;
}

/// Blocks that are alive: device, pinned and registered ones. Frees that are enqueued and have not run do not count.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_live_allocations() -> usize {
    open().memory.iter().filter(|b| b.freeing.is_none()).count()
}

/// Streams that were created and not destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_live_streams() -> usize {
    open().live_streams()
}

/// Events that were created and not destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_live_events() -> usize {
    open().events.len()
}

/// Settings as the environment gives them.
#[unsafe(no_mangle)]
pub extern "C" fn fake_cuda_defaults() {
    let mut d = open();
    d.settings = Settings::from_env();
    d.apply();
    Session::changed();
}
