//! Memory pools. They only count: memory comes from the system and goes back there.

use std::ffi::{c_int, c_void};

use crate::abi::*;
use crate::driver::{Driver, Pool, handle, id};
use crate::entry::{driver_calls, put};

/// Attributes 1 to 3 are switches of 4 bytes, the others 8-byte amounts.
const SWITCHES: std::ops::RangeInclusive<c_int> = 1..=3;
const AMOUNTS: std::ops::RangeInclusive<c_int> = 4..=8;

fn supported(d: &mut Driver, dev: CUdevice) -> Result<(), CUresult> {
    d.device(dev)?;
    if d.settings.pools { Ok(()) } else { Err(NOT_SUPPORTED) }
}

fn pool(d: &mut Driver, handle: CUmemoryPool) -> Result<&mut Pool, CUresult> {
    let id = id(handle);
    if d.pools.get(id).is_none() {
        return Err(d.bad_handle("pool", id));
    }
    d.pools.get_mut(id).ok_or(INVALID_HANDLE)
}

driver_calls! {
    /// The device's own pool.
    Call cuDeviceGetDefaultMemPool(place: *mut CUmemoryPool, dev: CUdevice) |d| {
        supported(d, dev)?;
        put(place, handle(d.device(dev)?.default_pool))
    };

    /// The pool that `cuMemAllocAsync` uses.
    Call cuDeviceGetMemPool(place: *mut CUmemoryPool, dev: CUdevice) |d| {
        supported(d, dev)?;
        put(place, handle(d.device(dev)?.pool))
    };

    /// Sets the pool that `cuMemAllocAsync` uses.
    Call cuDeviceSetMemPool(dev: CUdevice, new: CUmemoryPool) |d| {
        supported(d, dev)?;
        if pool(d, new)?.device != dev {
            return Err(INVALID_VALUE);
        }
        d.device(dev)?.pool = id(new);
        Ok(())
    };

    /// A new pool.
    Call cuMemPoolCreate(place: *mut CUmemoryPool, props: *const CUmemPoolProps) |d| {
        let Some(props) = props.as_ref() else { return Err(INVALID_VALUE) };
        supported(d, props.location_id)?;
        let new = d.pools.insert(Pool { device: props.location_id, ..Pool::default() });
        put(place, handle(new))
    };

    /// Ends a pool. Blocks of it live on.
    Call cuMemPoolDestroy(old: CUmemoryPool) |d| {
        let device = pool(d, old)?.device;
        let device = d.device(device)?;
        if device.default_pool == id(old) {
            return Err(INVALID_VALUE);
        }
        if device.pool == id(old) {
            device.pool = device.default_pool;
        }
        d.pools.remove(id(old));
        Ok(())
    };

    /// Sets an attribute.
    Call cuMemPoolSetAttribute(handle: CUmemoryPool, attribute: c_int, value: *mut c_void) |d| {
        let pool = pool(d, handle)?;
        if value.is_null() {
            return Err(INVALID_VALUE);
        }
        if SWITCHES.contains(&attribute) {
            pool.attributes.insert(attribute, value.cast::<c_int>().read_unaligned() as u64);
        } else if attribute == 4 {
            pool.attributes.insert(attribute, value.cast::<u64>().read_unaligned());
        } else if matches!(attribute, 6 | 8) && value.cast::<u64>().read_unaligned() == 0 {
            pool.high = pool.used;
        } else {
            return Err(INVALID_VALUE);
        }
        Ok(())
    };

    /// Reads an attribute.
    Call cuMemPoolGetAttribute(handle: CUmemoryPool, attribute: c_int, value: *mut c_void) |d| {
        let pool = pool(d, handle)?;
        let set = pool.attributes.get(&attribute).copied();
        if SWITCHES.contains(&attribute) {
            put(value.cast::<c_int>(), set.unwrap_or(1) as c_int)
        } else if AMOUNTS.contains(&attribute) {
            let amount = match attribute {
                4 => set.unwrap_or(0),
                5 | 7 => pool.used,
                _ => pool.high,
            };
            put(value.cast::<u64>(), amount)
        } else {
            Err(INVALID_VALUE)
        }
    };

    /// Gives back what is not used: nothing is kept in the first place.
    Call cuMemPoolTrimTo(handle: CUmemoryPool, keep: usize) |d| {
        pool(d, handle).map(|_| ()).and(if keep > isize::MAX as usize { Err(INVALID_VALUE) } else { Ok(()) })
    };

    /// Lets another device use the pool's memory. Accepted for devices that there are.
    Call cuMemPoolSetAccess(handle: CUmemoryPool, list: *const CUmemAccessDesc, count: usize) |d| {
        pool(d, handle)?;
        if list.is_null() && count > 0 {
            return Err(INVALID_VALUE);
        }
        for entry in (0..count).map(|i| list.add(i).read_unaligned()) {
            d.device(entry.location_id)?;
        }
        Ok(())
    };
}
