//! Memory from the driver.

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use super::check;
use super::device::CudaDevice;
use super::raw::{self, CUdevice, CUdeviceptr, CUstream};
use crate::block::{Block, Place, Storage};
use crate::error::{Error, Operation};
use crate::free_list::size_class;

const OP: Operation = Operation::Create;

/// How memory goes back to the driver.
pub(crate) enum Allocation {
    /// `cuMemFreeHost`, which may wait for the device.
    Pinned(&'static CudaDevice),
    /// `cuMemFree`, which may wait for the device.
    Plain(&'static CudaDevice),
    /// In stream order, by the stream that it is dropped on: not through here.
    Pool,
    /// Not at all: it belongs to somebody else.
    Foreign,
}

impl Allocation {
    /// Gives the memory back. An error is ignored: the memory leaks, or the process is at its end.
    pub(crate) fn free(&self, base: NonNull<u8>) {
        let base = base.as_ptr();
        let _ = match self {
            // SAFETY: the memory came from `cuMemHostAlloc`, and nobody holds the block.
            Allocation::Pinned(device) => device.within(|| unsafe { raw::cuMemFreeHost(base.cast()) }),
            // SAFETY: the memory came from `cuMemAlloc`, and nobody holds the block.
            Allocation::Plain(device) => device.within(|| unsafe { raw::cuMemFree_v2(address(base)) }),
            Allocation::Pool | Allocation::Foreign => 0,
        };
    }
}

/// A pointer as the driver's number.
pub(super) fn address(ptr: *const u8) -> CUdeviceptr {
    ptr.expose_provenance() as CUdeviceptr
}

/// Lets the device's pool keep what is freed, as a program that allocates again wants it.
pub(super) fn keep_pool(device: CUdevice) -> Result<(), Error> {
    let mut pool = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    check(OP, unsafe { raw::cuDeviceGetDefaultMemPool(&raw mut pool, device) })?;
    let mut threshold = u64::MAX;
    let attribute = raw::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a 64-bit number.
    check(OP, unsafe { raw::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast::<c_void>()) })
}

/// Lets the device's pool give back what nothing uses.
pub(super) fn trim_pool(device: CUdevice) {
    let mut pool = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    if unsafe { raw::cuDeviceGetDefaultMemPool(&raw mut pool, device) } == 0 {
        // SAFETY: the pool is the device's. An error changes nothing.
        let _ = unsafe { raw::cuMemPoolTrimTo(pool, 0) };
    }
}

/// Bytes of the device's pool that are in use: not counted here, since that would cost each buffer two counts.
fn used_of_pool(device: CUdevice) -> usize {
    let mut pool = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    if unsafe { raw::cuDeviceGetDefaultMemPool(&raw mut pool, device) } != 0 {
        return 0;
    }
    let mut used = 0u64;
    let attribute = raw::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    // SAFETY: the attribute is a 64-bit number.
    let code = unsafe { raw::cuMemPoolGetAttribute(pool, attribute, (&raw mut used).cast::<c_void>()) };
    if code == 0 { usize::try_from(used).unwrap_or(usize::MAX) } else { 0 }
}

/// A block for use on `stream`.
#[inline]
pub(super) fn take(
    device: &'static CudaDevice,
    stream: CUstream,
    place: Place,
    bytes: usize,
) -> Result<Box<Block>, Error> {
    if place == Place::Device && device.has_pools() {
        from_pool(device, stream, bytes)
            .or_else(|code| after_failure(device, place, bytes, code, || from_pool(device, stream, bytes)))
    } else {
        take_counted(device, place, bytes)
    }
}

/// A block that is not freed in stream order, from the free list where there is one.
fn take_counted(device: &'static CudaDevice, place: Place, bytes: usize) -> Result<Box<Block>, Error> {
    let class = size_class(bytes).ok_or_else(|| no_memory(device, place, bytes))?;
    if let Some(block) = device.free.take(place, class) {
        return Ok(block);
    }
    let ask = || match place {
        Place::Device => from_driver(device, class),
        Place::Host | Place::Lent => pinned(device, class),
    };
    let block = ask().or_else(|code| after_failure(device, place, bytes, code, ask))?;
    device.free.lend(class);
    Ok(block)
}

/// Asks once more behind a trim, if memory is what was missing.
#[cold]
#[inline(never)]
fn after_failure(
    device: &'static CudaDevice,
    place: Place,
    bytes: usize,
    code: raw::Code,
    ask: impl FnOnce() -> Result<Box<Block>, raw::Code>,
) -> Result<Box<Block>, Error> {
    let again = if code == raw::OUT_OF_MEMORY {
        device.trim();
        ask()
    } else {
        Err(code)
    };
    again.map_err(|code| match code {
        raw::OUT_OF_MEMORY => no_memory(device, place, bytes),
        code => Error::Driver { op: OP, code },
    })
}

#[cold]
fn no_memory(device: &CudaDevice, place: Place, asked: usize) -> Error {
    let pooled = if device.has_pools() { used_of_pool(device.raw()) } else { 0 };
    Error::OutOfMemory { place: place.memory(), asked, held: device.free.held() + pooled }
}

#[inline]
fn from_pool(device: &'static CudaDevice, stream: CUstream, bytes: usize) -> Result<Box<Block>, raw::Code> {
    let mut ptr = std::cell::Cell::new(0);
    let to = ptr.as_ptr();
    // SAFETY: the address is valid for the call, and the stream is the device's.
    let code = device.call(move || unsafe { raw::cuMemAllocAsync(to, bytes, stream) });
    device_block(code, *ptr.get_mut(), bytes, Allocation::Pool)
}

pub(super) fn from_driver(device: &'static CudaDevice, bytes: usize) -> Result<Box<Block>, raw::Code> {
    let mut ptr = 0;
    // SAFETY: the address is valid for the call.
    let code = device.within(|| unsafe { raw::cuMemAlloc_v2(&raw mut ptr, bytes) });
    device_block(code, ptr, bytes, Allocation::Plain(device))
}

#[inline]
fn device_block(
    code: raw::Code,
    ptr: CUdeviceptr,
    bytes: usize,
    allocation: Allocation,
) -> Result<Box<Block>, raw::Code> {
    if code != 0 {
        return Err(code);
    }
    let base = NonNull::new(ptr::with_exposed_provenance_mut(ptr as usize)).ok_or(raw::OUT_OF_MEMORY)?;
    Ok(Block::new(Place::Device, base, bytes, Storage::Driver(allocation)))
}

fn pinned(device: &'static CudaDevice, bytes: usize) -> Result<Box<Block>, raw::Code> {
    let mut ptr = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    let code = device.within(|| unsafe { raw::cuMemHostAlloc(&raw mut ptr, bytes, raw::HOST_ALLOC_PORTABLE) });
    if code != 0 {
        return Err(code);
    }
    let base = NonNull::new(ptr.cast::<u8>()).ok_or(raw::OUT_OF_MEMORY)?;
    // Host memory is initialised once, and stays so.
    // SAFETY: the driver gave `bytes` bytes, which nobody else has.
    unsafe { base.as_ptr().write_bytes(0, bytes) };
    Ok(Block::new(Place::Host, base, bytes, Storage::Driver(Allocation::Pinned(device))))
}
