//! `cuInit`, versions, error texts, devices.

use std::ffi::{c_char, c_int, c_uint};

use crate::abi::*;
use crate::entry::{driver_calls, put};

/// The version that the fake gives as its own: CUDA 13.0.
const VERSION: c_int = 13000;

/// Attributes of every device; the rest are 0.
fn attribute(number: c_int, ordinal: c_int, pools: bool) -> c_int {
    match number {
        1..=3 => 1024,                                   // threads of a block, block in x, y
        4 => 64,                                         // block in z
        5 | 11 => 0x7FFF_FFFF,                           // grid in x, pitch
        6 | 7 => 65535,                                  // grid in y, z
        8 => 48 << 10,                                   // shared memory of a block
        10 | 106 => 32,                                  // warp, blocks of a multiprocessor
        9 | 12 | 82 => 64 << 10,                         // constant memory, registers
        13 | 36 => 1_000_000,                            // clocks
        14 | 48 => 512,                                  // alignments
        16 => 4,                                         // multiprocessors
        15 | 19 | 31 | 41 | 78 | 83 | 95 | 99 | 91 => 1, // overlap, mapping, concurrency, unified addresses and such
        33 => ordinal + 1,                               // bus
        37 => 256,                                       // bus width
        38 => 1 << 20,                                   // L2
        39 => 2048,                                      // threads of a multiprocessor
        40 => 2,                                         // copy engines
        75 => 9,                                         // compute capability 9.0
        81 => 228 << 10,                                 // shared memory of a multiprocessor
        97 => 227 << 10,                                 // shared memory of a block, opted in
        115 => c_int::from(pools),                       // memory pools
        _ => 0,
    }
}

driver_calls! {
    /// Starts the driver.
    Call cuInit(flags: c_uint) |d| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        d.initialized = true;
        crate::schedule::watch_exit();
        if d.settings.delay.is_some() {
            crate::schedule::start_background();
        }
        if d.settings.devices == 0 { Err(NO_DEVICE) } else { Ok(()) }
    };

    /// The version, 13.0.
    Early cuDriverGetVersion(version: *mut c_int) |_d| put(version, VERSION);

    /// The name of a code.
    Early cuGetErrorName(error: CUresult, text: *mut *const c_char) |_d| match describe(error) {
        Some((name, _)) => put(text, name.as_ptr().cast()),
        None => put(text, std::ptr::null()).and(Err(INVALID_VALUE)),
    };

    /// The text of a code.
    Early cuGetErrorString(error: CUresult, text: *mut *const c_char) |_d| match describe(error) {
        Some((_, message)) => put(text, message.as_ptr().cast()),
        None => put(text, std::ptr::null()).and(Err(INVALID_VALUE)),
    };

    /// A device by ordinal.
    Call cuDeviceGet(device: *mut CUdevice, ordinal: c_int) |d| {
        d.device(ordinal).map(|_| ()).and_then(|()| put(device, ordinal))
    };

    /// How many devices there are.
    Call cuDeviceGetCount(count: *mut c_int) |d| put(count, d.settings.devices as c_int);

    /// `Fake CUDA device N`.
    Call cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice) |d| {
        d.device(dev)?;
        if name.is_null() || len < 1 {
            return Err(INVALID_VALUE);
        }
        let text = format!("Fake CUDA device {dev}");
        let count = text.len().min(len as usize - 1);
        std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), count);
        name.add(count).write(0);
        Ok(())
    };

    /// The identity: the ordinal in its last byte.
    Call cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice) |d| {
        d.device(dev).map(|_| ()).and_then(|()| put(uuid, identity(dev)))
    };

    /// The identity: the ordinal in its last byte.
    Call cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice) |d| {
        d.device(dev).map(|_| ()).and_then(|()| put(uuid, identity(dev)))
    };

    /// Bytes of device memory.
    Call cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) |d| {
        d.device(dev)?;
        put(bytes, d.settings.memory as usize)
    };

    /// A device attribute; those that the fake does not know are 0.
    Call cuDeviceGetAttribute(value: *mut c_int, number: c_int, dev: CUdevice) |d| {
        d.device(dev)?;
        put(value, attribute(number, dev, d.settings.pools))
    };

    /// 9.0.
    Call cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, dev: CUdevice) |d| {
        d.device(dev)?;
        put(major, 9).and_then(|()| put(minor, 0))
    };

    /// Two different devices can.
    Call cuDeviceCanAccessPeer(can: *mut c_int, dev: CUdevice, peer: CUdevice) |d| {
        d.device(dev)?;
        d.device(peer)?;
        put(can, c_int::from(dev != peer))
    };

    /// Access is supported, native atomics are not.
    Call cuDeviceGetP2PAttribute(value: *mut c_int, attribute: c_int, src: CUdevice, dst: CUdevice) |d| {
        d.device(src)?;
        d.device(dst)?;
        if src == dst { Err(INVALID_DEVICE) } else { put(value, c_int::from(attribute == 2)) }
    };

    /// `0000:NN:00.0`.
    Call cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, dev: CUdevice) |d| {
        d.device(dev)?;
        let id = format!("0000:{:02X}:00.0\0", dev + 1);
        if text.is_null() || (len as usize) < id.len() {
            return Err(INVALID_VALUE);
        }
        std::ptr::copy_nonoverlapping(id.as_ptr(), text.cast(), id.len());
        Ok(())
    };
}

fn identity(dev: CUdevice) -> CUuuid {
    let mut bytes = *b"escrow-fake-gpu\0";
    bytes[15] = dev as u8;
    CUuuid { bytes }
}
