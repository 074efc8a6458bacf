//! Loading Open MPI's library at run time, with two of its faults kept out of the way.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::raw::Raw;
use crate::error::Error;

/// By the name of Open MPI 4 first; the second is what development packages have.
const NAMES: [&str; 2] = ["liboshmem.so.40", "liboshmem.so"];

/// The functions of Open MPI's `liboshmem`. The library stays loaded for good.
pub(super) fn load() -> Result<Raw, Error> {
    hide_end();
    let mut why = String::new();
    for name in NAMES {
        // SAFETY: the initializers of Open MPI's libraries run here, and ask nothing of their caller. Global, since Open
        // MPI's own components look for its symbols there.
        match unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => {
                // SAFETY: by its name it is Open MPI's; it is forgotten below, so it is never closed.
                let raw = unsafe { Raw::of(&library) };
                std::mem::forget(library);
                return raw.map_err(|symbol| {
                    Error::Job(format!("`{name}` has no `{symbol}`: it is not Open MPI's OpenSHMEM 1.4").into())
                });
            }
            Err(error) if why.is_empty() => why = error.to_string(),
            Err(_) => {}
        }
    }
    Err(Error::Job(
        format!("Open MPI's OpenSHMEM did not load: {why}; Debian has it in `openmpi-bin` and `libopenmpi-dev`").into(),
    ))
}

/// Keeps a component of Open MPI loaded that it unloads too early: 4.1.4 and 4.1.5 leave a hook for freed memory in
/// `mca_spml_ucx.so`, and `shmem_finalize` calls it when the code is gone (open-mpi/ompi#11604). Called after the start.
pub(super) fn keep_hook() {
    /// As in glibc's `dlfcn.h`; other systems have no such component.
    const RTLD_NOLOAD: i32 = 4;
    if cfg!(target_os = "linux") {
        // SAFETY: it runs nothing: with this flag only what is loaded already is found.
        if let Ok(library) = unsafe { Library::open(Some("mca_spml_ucx.so"), RTLD_NOW | RTLD_NOLOAD) } {
            std::mem::forget(library); // one count that nobody gives back
        }
    }
}

/// Defines the symbol `_end` for the libraries that are loaded later, at an address below everything.
///
/// Open MPI makes every writable mapping of the process that lies below `_end` symmetric memory, since the static data of
/// the program ends there. In a program that was not linked with it the symbol is its own library's: then it takes every
/// heap and stack below, and where there are more than 32 it crashes. Escrow has no symmetric static data.
fn hide_end() {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        use std::io::Write as _;
        use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

        const CLOSE_ON_EXEC: u32 = 1;
        // SAFETY: the name is a C string.
        let file = unsafe { super::raw::memfd_create(c"escrow-end".as_ptr(), CLOSE_ON_EXEC) };
        if file < 0 {
            return;
        }
        // SAFETY: the call gave it to us.
        let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(file) });
        if file.write_all(&library_with_end()).is_err() {
            return;
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: the library has no code, so nothing runs. It is global: what is loaded later finds its symbol first.
        if let Ok(library) = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
            std::mem::forget(library);
        }
    }
}

/// The bytes of a shared library that defines `_end` as the absolute address 1, and has nothing else.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn library_with_end() -> Vec<u8> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    // Where the parts lie: header, two program headers, symbols, hash table, names, dynamic section.
    const SYMBOLS: u64 = 64 + 2 * 56;
    const HASH: u64 = SYMBOLS + 2 * 24;
    const NAMES: u64 = HASH + 5 * 4 + 4;
    const DYNAMIC: u64 = NAMES + 8;
    const ALL: u64 = DYNAMIC + 6 * 16;

    let mut bytes = Vec::with_capacity(ALL as usize);
    let bytes_of_halves = |halves: &[u16]| halves.iter().flat_map(|half| half.to_le_bytes()).collect::<Vec<u8>>();
    let bytes_of_words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let bytes_of_longs = |longs: &[u64]| longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>();
    let mut put = |part: &[u8]| bytes.extend_from_slice(part);

    put(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"); // 64 bits, least significant byte first
    put(&bytes_of_halves(&[3, MACHINE])); // a shared library
    put(&bytes_of_words(&[1]));
    put(&bytes_of_longs(&[0, 64, 0])); // no entry, program headers at 64, no sections
    put(&bytes_of_words(&[0]));
    put(&bytes_of_halves(&[64, 56, 2, 64, 0, 0]));
    // Loaded as a whole, readable and writable; and where its dynamic section is.
    for (kind, at, size, align) in [(1, 0, ALL, 0x1_0000), (2, DYNAMIC, ALL - DYNAMIC, 8)] {
        put(&bytes_of_words(&[kind, 6]));
        put(&bytes_of_longs(&[at, at, at, size, size, align]));
    }
    // The symbols: none, and `_end`: an object, global, absolute, at 1.
    put(&[0; 24]);
    put(&bytes_of_words(&[1]));
    put(&[0x11, 0, 0xF1, 0xFF]);
    put(&bytes_of_longs(&[1, 0]));
    // One bucket, which has symbol 1 alone.
    put(&bytes_of_words(&[1, 2, 1, 0, 0, 0]));
    put(b"\0_end\0\0\0");
    put(&bytes_of_longs(&[4, HASH, 5, NAMES, 6, SYMBOLS, 10, 8, 11, 24, 0, 0]));
    bytes
}
