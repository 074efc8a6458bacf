//! The one copy between PEs that are threads of a process.
//!
//! Other PEs may write or read the same bytes at the same time: that gives mixed bytes, and must not be more than that. So
//! the copy is made by instructions that the compiler does not look into: to Rust it is what a device does.

/// Copies `bytes` bytes between the memories of two PEs.
///
/// # Safety
/// `src` is valid for reads and `dst` for writes of `bytes` bytes. Other PEs may use the bytes at the same time by copies
/// and atomics of this module; nobody else does.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: the instruction reads and writes the ranges of the caller's promise, and the direction flag is clear, as
    // the ABI says.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _,
            inout("rdi") dst => _,
            inout("rsi") src => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Copies `bytes` bytes between the memories of two PEs.
///
/// # Safety
/// As on x86-64.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: the loops read and write the ranges of the caller's promise, 16 bytes and then one at a time.
    unsafe {
        std::arch::asm!(
            "2:",
            "cmp {n}, #16",
            "b.lo 3f",
            "ldp {a}, {b}, [{s}], #16",
            "stp {a}, {b}, [{d}], #16",
            "sub {n}, {n}, #16",
            "b 2b",
            "3:",
            "cbz {n}, 4f",
            "ldrb {a:w}, [{s}], #1",
            "strb {a:w}, [{d}], #1",
            "sub {n}, {n}, #1",
            "b 3b",
            "4:",
            n = inout(reg) bytes => _,
            s = inout(reg) src => _,
            d = inout(reg) dst => _,
            a = out(reg) _,
            b = out(reg) _,
            options(nostack),
        );
    }
}

/// Copies `bytes` bytes between the memories of two PEs.
///
/// # Safety
/// As on x86-64.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
    for at in 0..bytes {
        // SAFETY: both lie in the ranges of the caller's promise; bytes are aligned, and used as atomics by all.
        unsafe {
            let byte = AtomicU8::from_ptr(src.add(at).cast_mut()).load(Relaxed);
            AtomicU8::from_ptr(dst.add(at)).store(byte, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn copies_every_length_at_every_offset() {
        let src: Vec<u8> = (0..200u8).collect();
        for len in 0..80 {
            for from in 0..17 {
                for to in 0..17 {
                    let mut dst = vec![0xEE; 128];
                    // SAFETY: both ranges lie in their vectors.
                    unsafe { super::copy(dst.as_mut_ptr().add(to), src.as_ptr().add(from), len) };
                    assert_eq!(dst[to..to + len], src[from..from + len]);
                    assert!(dst[..to].iter().chain(&dst[to + len..]).all(|byte| *byte == 0xEE));
                }
            }
        }
    }
}
