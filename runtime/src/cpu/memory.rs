//! Copies and fills at the speed of memory.

use std::ptr;

use super::team;

/// Bytes for which another thread is worth its wake-up.
const PER_THREAD: usize = if cfg!(miri) { 256 } else { 1 << 20 };
/// Bytes of a pattern that are repeated in one go: half of a usual first-level cache.
const REPEATED: usize = if cfg!(miri) { 64 } else { 16 << 10 };

/// A pointer that goes to the helpers.
#[derive(Clone, Copy)]
struct Shared<T>(T);

// SAFETY: each helper uses a range of its own (see the uses), and elements are `Send`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        self.0
    }
}

/// Divides `count` units of `size` bytes; `None` if one thread should do it all, else units per chunk.
fn chunk_of(count: usize, size: usize, threads: usize) -> Option<usize> {
    let threads = threads.min(count.saturating_mul(size) / PER_THREAD);
    // A few chunks to a thread, so that one that is held up elsewhere does not hold up the rest; but not small ones, so
    // that the system's copy still takes its way for large ranges.
    (threads > 1).then(|| count.div_ceil(4 * threads).max((PER_THREAD / 2).div_ceil(size)))
}

/// Copies `bytes` bytes.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `bytes` bytes, the ranges do not overlap, and nobody else writes to
/// the one or uses the other until this returns.
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize, threads: usize) {
    let Some(chunk) = chunk_of(bytes, 1, threads) else {
        // SAFETY: the caller's duty.
        unsafe { ptr::copy_nonoverlapping(src, dst, bytes) };
        return;
    };
    // Whole pages, so that chunks start aligned as the whole does.
    let chunk = chunk.next_multiple_of(4096);
    let (dst, src) = (Shared(dst), Shared(src));
    // Copying does not panic.
    let _ = team::run(threads, bytes.div_ceil(chunk), &|index| {
        let start = index * chunk;
        // SAFETY: the chunk lies inside of the caller's ranges, and no other chunk overlaps it.
        unsafe { ptr::copy_nonoverlapping(src.get().add(start), dst.get().add(start), chunk.min(bytes - start)) };
    });
}

/// Writes `count` elements of `size` bytes, all like the one at `pattern`.
///
/// # Safety
/// `dst` is valid for writes of `count * size` bytes and `pattern` for reads of `size`, they do not overlap, and nobody
/// else uses the former or writes to the latter until this returns.
pub(super) unsafe fn fill(dst: *mut u8, pattern: *const u8, size: usize, count: usize, threads: usize) {
    let Some(chunk) = (size > 0).then(|| chunk_of(count, size, threads)).flatten() else {
        // SAFETY: the caller's duty.
        unsafe { fill_alone(dst, pattern, size, count) };
        return;
    };
    let (dst, pattern) = (Shared(dst), Shared(pattern));
    // Filling does not panic.
    let _ = team::run(threads, count.div_ceil(chunk), &|index| {
        let start = index * chunk;
        // SAFETY: the chunk lies inside of the caller's range, and no other chunk overlaps it.
        unsafe { fill_alone(dst.get().add(start * size), pattern.get(), size, chunk.min(count - start)) };
    });
}

/// [`fill`] on this thread.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_alone(dst: *mut u8, pattern: *const u8, size: usize, count: usize) {
    if size == 0 || count == 0 {
        return;
    }
    let bytes = size * count;
    // SAFETY: `pattern` is valid for reads of `size` bytes; elements have no padding (`DType`).
    let element = unsafe { std::slice::from_raw_parts(pattern, size) };
    if element.iter().all(|byte| *byte == element[0]) {
        // SAFETY: `dst` is valid for writes of `bytes` bytes.
        unsafe { dst.write_bytes(element[0], bytes) };
        return;
    }
    // SAFETY: `count > 0`, so there is room for one element; `pattern` does not overlap it.
    unsafe { ptr::copy_nonoverlapping(pattern, dst, size) };
    // What is written is the pattern for what follows: doubled while it fits the cache, then repeated from there.
    let mut written = size;
    let mut repeated = size;
    while written < bytes {
        let next = repeated.min(bytes - written);
        // SAFETY: source `0..next` lies before `written` (`repeated <= written`), the destination behind it and inside
        // of `bytes`, so they do not overlap; both begin at multiples of `size`, so the pattern goes on.
        unsafe { ptr::copy_nonoverlapping(dst, dst.add(written), next) };
        written += next;
        if repeated < REPEATED {
            repeated = written;
        }
    }
}
