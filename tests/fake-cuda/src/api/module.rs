//! Modules and kernels.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use crate::abi::*;
use crate::driver::{Driver, handle, id};
use crate::entry::{Answer, driver_calls, put};
use crate::module::{Function, Module};
use crate::ptx;

/// Shared memory of a block without, and at most with, opting in.
const SHARED: u32 = 48 << 10;
const SHARED_OPT_IN: u32 = 227 << 10;

fn load(d: &mut Driver, place: *mut CUmodule, text: &str) -> Answer {
    let ctx = d.current()?;
    let entries = ptx::parse(text).map_err(|error| {
        eprintln!("fake-cuda: PTX: {error}");
        INVALID_PTX
    })?;
    let entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
    let module = d.modules.insert(Module { ctx, entries, functions: Vec::new() });
    // SAFETY: `place` is the caller's, null or valid for a write.
    unsafe { put(place, handle(module)) }
}

/// The text of an image.
///
/// # Safety
/// `image` is null or points to PTX text that ends with a zero, or to a binary image, which is longer than its first
/// four bytes.
unsafe fn text<'a>(image: *const c_void) -> Result<&'a str, CUresult> {
    if image.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: every image is longer than four bytes; see above.
    let head = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), 4) };
    if head == b"\x7fELF" || head == [0x50, 0xED, 0x55, 0xBA] {
        eprintln!("fake-cuda: only PTX text can be loaded, not cubins and fat binaries");
        return Err(INVALID_IMAGE);
    }
    // SAFETY: it is text, and ends with a zero.
    unsafe { CStr::from_ptr(image.cast()) }.to_str().map_err(|_| INVALID_IMAGE)
}

impl Driver {
    /// A live kernel, by the caller's handle.
    pub(crate) fn function(&mut self, function: CUfunction) -> Result<&mut Function, CUresult> {
        let id = id(function);
        if self.functions.get(id).is_none() {
            return Err(self.bad_handle("kernel", id));
        }
        self.functions.get_mut(id).ok_or(INVALID_HANDLE)
    }
}

driver_calls! {
    /// Loads PTX text.
    Call cuModuleLoadData(module: *mut CUmodule, image: *const c_void) |d| {
        text(image).and_then(|text| load(d, module, text))
    };

    /// Loads PTX text; options are not looked at.
    Call cuModuleLoadDataEx(
        module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void,
    ) |d| {
        if count > 0 && (options.is_null() || values.is_null()) {
            return Err(INVALID_VALUE);
        }
        text(image).and_then(|text| load(d, module, text))
    };

    /// Loads PTX text from a file.
    Call cuModuleLoad(module: *mut CUmodule, name: *const c_char) |d| {
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        let name = CStr::from_ptr(name).to_str().map_err(|_| FILE_NOT_FOUND)?;
        let text = std::fs::read_to_string(name).map_err(|_| FILE_NOT_FOUND)?;
        load(d, module, &text)
    };

    /// Drops a module and its kernels.
    Call cuModuleUnload(module: CUmodule) |d| {
        d.current()?;
        if d.modules.get(id(module)).is_none() {
            return Err(d.bad_handle("module", id(module)));
        }
        d.unload(id(module));
        Ok(())
    };

    /// A kernel by name.
    Call cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) |d| {
        d.current()?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        let name = CStr::from_ptr(name).to_str().map_err(|_| NOT_FOUND)?;
        let module = id(module);
        let Some(row) = d.modules.get(module) else { return Err(d.bad_handle("module", module)) };
        let entry = row.entries.iter().find(|e| e.name == name).cloned().ok_or(NOT_FOUND)?;
        let ctx = row.ctx;
        // One handle for one kernel, however often it is asked for.
        let known = row.functions.iter().copied().find(|f| d.functions.get(*f).is_some_and(|f| f.entry.name == name));
        let new = known.unwrap_or_else(|| {
            let dynamic_limit = SHARED.saturating_sub(entry.shared_bytes);
            d.functions.insert(Function { ctx, module, entry, dynamic_limit })
        });
        if let Some(row) = d.modules.get_mut(module).filter(|_| known.is_none()) {
            row.functions.push(new);
        }
        put(function, handle(new))
    };

    /// Offset and size of a parameter.
    Call cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize) |d| {
        let function = d.function(function)?;
        let param = function.entry.params.get(index).ok_or(INVALID_VALUE)?;
        let (at, len) = (param.offset as usize, param.size as usize);
        put(offset, at)?;
        if size.is_null() { Ok(()) } else { put(size, len) }
    };

    /// The module of a kernel.
    Call cuFuncGetModule(module: *mut CUmodule, function: CUfunction) |d| {
        let owner = d.function(function)?.module;
        put(module, handle(owner))
    };

    /// Limits and sizes of a kernel.
    Call cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction) |d| {
        let function = d.function(function)?;
        let entry = &function.entry;
        let answer = match attribute {
            0 => entry.max_threads as c_int,
            1 => entry.shared_bytes as c_int,
            3 => entry.local_bytes as c_int,
            4 => 32,
            5 | 6 => 90,
            8 => function.dynamic_limit as c_int,
            2 | 7 | 9 => 0,
            _ => return Err(INVALID_VALUE),
        };
        put(value, answer)
    };

    /// Sets the limit of dynamic shared memory (8); the carve-out (9) is accepted.
    Call cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) |d| {
        let function = d.function(function)?;
        match attribute {
            8 if value >= 0 && value as u32 + function.entry.shared_bytes <= SHARED_OPT_IN => {
                function.dynamic_limit = value as u32;
                Ok(())
            }
            9 => Ok(()),
            _ => Err(INVALID_VALUE),
        }
    };

    /// Accepted and forgotten.
    Call cuFuncSetCacheConfig(function: CUfunction, config: c_int) |d| {
        d.function(function).map(|_| ()).and(if config < 0 { Err(INVALID_VALUE) } else { Ok(()) })
    };

    /// As many blocks as threads and shared memory allow.
    Call cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: CUfunction, block: c_int, dynamic: usize,
    ) |d| {
        let entry = d.function(function)?.entry.clone();
        if block < 1 {
            return Err(INVALID_VALUE);
        }
        put(blocks, occupancy(&entry, block as usize, dynamic) as c_int)
    };

    /// As many blocks as threads and shared memory allow.
    Call cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, function: CUfunction, block: c_int, dynamic: usize, flags: c_uint,
    ) |d| {
        let entry = d.function(function)?.entry.clone();
        if block < 1 || flags > 1 {
            return Err(INVALID_VALUE);
        }
        put(blocks, occupancy(&entry, block as usize, dynamic) as c_int)
    };

    /// The largest block that the limits allow, and the grid that fills the device with it.
    Call cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: CUfunction, shared: CUoccupancyB2DSize, dynamic: usize,
        limit: c_int,
    ) |d| {
        let entry = d.function(function)?.entry.clone();
        let largest = if limit > 0 { entry.max_threads.min(limit as u32) } else { entry.max_threads };
        let bytes = |threads: u32| match shared {
            Some(f) => f(threads as c_int),
            None => dynamic,
        };
        let fits = |threads: &u32| occupancy(&entry, *threads as usize, bytes(*threads)) > 0;
        let best = (1..=largest / 32).rev().map(|warps| warps * 32).find(fits);
        let best = best.unwrap_or(largest);
        put(block, best as c_int)?;
        put(grid, (occupancy(&entry, best as usize, bytes(best)) * 4) as c_int)
    };
}

/// Blocks of a kernel that a multiprocessor holds at a time.
pub(super) fn occupancy(entry: &ptx::Entry, block: usize, dynamic: usize) -> usize {
    if block > entry.max_threads as usize {
        return 0;
    }
    let shared = entry.shared_bytes as usize + dynamic;
    let by_shared = (228usize << 10).checked_div(shared).unwrap_or(32);
    (2048 / block).min(by_shared).min(32)
}
