//! Launches. Geometry and parameters are checked against the kernel at the call; the kernel runs in stream order.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::*;
use crate::entry::{Answer, driver_calls};
use crate::module::Launch;
use crate::op::Kind;
use crate::ptx::Grid;
use crate::report::Kind as Finding;
use crate::session::Session;

/// Multiprocessors of a device: a cooperative launch must fit into them at once.
const MULTIPROCESSORS: usize = 4;

/// Tags of the `extra` list.
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Collects the parameters' bytes.
///
/// # Safety
/// As `cuLaunchKernel` asks of `params` and `extra`.
unsafe fn parameters(
    d: &mut Session,
    entry: &crate::ptx::Entry,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Box<[u8]>, CUresult> {
    let mut bytes = vec![0u8; entry.param_bytes as usize].into_boxed_slice();
    if !extra.is_null() {
        let (mut from, mut len, mut at) = (std::ptr::null::<u8>(), 0, 0);
        // SAFETY: the list is pairs of a tag and a pointer, and ends with 0.
        unsafe {
            loop {
                let (tag, value) = (extra.add(at).read().addr(), at + 1);
                match tag {
                    0 => break,
                    BUFFER => from = extra.add(value).read().cast_const().cast(),
                    BUFFER_SIZE => len = extra.add(value).read().cast::<usize>().read(),
                    _ => return Err(INVALID_VALUE),
                }
                at += 2;
            }
            if len < bytes.len() || from.is_null() {
                d.complain(Finding::BadLaunch, &format!("{}: {len} of {} parameter bytes", entry.name, bytes.len()));
                return Err(INVALID_VALUE);
            }
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        return Ok(bytes);
    }
    if entry.params.is_empty() {
        return Ok(bytes);
    }
    if params.is_null() {
        d.complain(Finding::BadLaunch, &format!("{}: no parameters where {} are due", entry.name, entry.params.len()));
        return Err(INVALID_VALUE);
    }
    for (i, param) in entry.params.iter().enumerate() {
        // SAFETY: the list has an entry for each parameter.
        let from = unsafe { params.add(i).read() };
        if from.is_null() {
            d.complain(
                Finding::BadLaunch,
                &format!("{}: parameter {i}, {}, is a null pointer", entry.name, param.name),
            );
            return Err(INVALID_VALUE);
        }
        let to = &mut bytes[param.offset as usize..][..param.size as usize];
        // SAFETY: each entry points to a value of the parameter's size.
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.as_mut_ptr(), to.len()) };
    }
    Ok(bytes)
}

/// # Safety
/// As `cuLaunchKernel` asks of `params` and `extra`.
unsafe fn launch(
    d: &mut Session,
    function: CUfunction,
    mut grid: Grid,
    stream: CUstream,
    params: (*mut *mut c_void, *mut *mut c_void),
    cooperative: bool,
) -> Answer {
    let stream = d.stream(stream)?;
    let (ctx, entry, limit) = {
        let function = d.function(function)?;
        (function.ctx, function.entry.clone(), function.dynamic_limit)
    };
    if ctx != d.ctx_of(stream) {
        d.complain(Finding::WrongContext, &format!("launches {} on a stream of another context", entry.name));
        return Err(INVALID_HANDLE);
    }
    let threads = grid.block.iter().map(|n| u64::from(*n)).product::<u64>();
    let too_long = grid.blocks[0] > 0x7FFF_FFFF || grid.blocks[1] > 65535 || grid.blocks[2] > 65535;
    if grid.blocks.contains(&0) || grid.block.contains(&0) || too_long || grid.block[2] > 64 || threads > 1024 {
        return Err(INVALID_VALUE);
    }
    // More than `.maxntid` is 1 too on a driver 580, not 701.
    if threads > u64::from(entry.max_threads) {
        return Err(INVALID_VALUE);
    }
    if grid.dynamic_shared > limit {
        return Err(INVALID_VALUE);
    }
    if cooperative {
        let fit = super::module::occupancy(&entry, threads as usize, grid.dynamic_shared as usize) * MULTIPROCESSORS;
        if grid.blocks.iter().map(|n| u64::from(*n)).product::<u64>() > fit as u64 {
            return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    grid.cooperative = cooperative;
    // SAFETY: the caller vouches for the lists.
    let params = unsafe { parameters(d, &entry, params.0, params.1)? };
    d.enqueue(stream, Kind::Launch(Box::new(Launch { entry, grid, params })));
    Ok(())
}

fn grid(x: c_uint, y: c_uint, z: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint) -> Grid {
    Grid { blocks: [x, y, z], block: [bx, by, bz], dynamic_shared: shared, cooperative: false }
}

driver_calls! {
    /// Launches a kernel.
    Queued cuLaunchKernel(
        function: CUfunction, x: c_uint, y: c_uint, z: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint,
        stream: CUstream, params: *mut *mut c_void, extra: *mut *mut c_void,
    ) |d| {
        launch(d, function, grid(x, y, z, bx, by, bz, shared), stream, (params, extra), false)
    };

    /// Launches a kernel whose blocks are all there at the same time.
    Queued cuLaunchCooperativeKernel(
        function: CUfunction, x: c_uint, y: c_uint, z: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint,
        stream: CUstream, params: *mut *mut c_void,
    ) |d| {
        launch(d, function, grid(x, y, z, bx, by, bz, shared), stream, (params, std::ptr::null_mut()), true)
    };

    /// Launches a kernel; of the attributes only "cooperative" (2) is looked at.
    #[allow(clippy::cast_ptr_alignment, reason = "unaligned reads")]
    Queued cuLaunchKernelEx(
        config: *const CUlaunchConfig, function: CUfunction, params: *mut *mut c_void, extra: *mut *mut c_void,
    ) |d| {
        let Some(config) = config.as_ref() else { return Err(INVALID_VALUE) };
        // An attribute is a 4-byte number, padding, and a union of 64 bytes at offset 8.
        let attribute = |i: usize| config.attributes.cast::<u8>().add(i * 72);
        let mut all = 0..config.attribute_count as usize;
        let number = |at: *mut u8| at.cast::<c_int>().read_unaligned();
        let cooperative = !config.attributes.is_null()
            && all.any(|i| number(attribute(i)) == 2 && number(attribute(i).add(8)) != 0);
        let ([x, y, z], [bx, by, bz]) = (config.grid, config.block);
        launch(d, function, grid(x, y, z, bx, by, bz, config.shared_bytes), config.stream, (params, extra), cooperative)
    };
}
