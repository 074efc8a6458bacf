//! A GPU: its context, its memory, and what its streams share.

use std::collections::VecDeque;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::core::Orphan;
use super::module::Module;
use super::raw::{self, CUcontext, CUdevice, CUevent, CUfunction, Code};
use super::{Allocation, check, memory};
use crate::block::{Block, Storage};
use crate::device::MemoryInfo;
use crate::error::{Error, Operation};
use crate::free_list::FreeList;

const OP: Operation = Operation::Create;

/// A context that is the thread's own for a while; it stays on the thread.
#[must_use = "the context is the thread's own until this is dropped"]
pub(crate) struct Entered(std::marker::PhantomData<*mut ()>);

impl Drop for Entered {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: the address is valid; the value was made by a push on this thread.
        let _ = unsafe { raw::cuCtxPopCurrent_v2(&raw mut popped) };
    }
}

/// One GPU. There is one value for each, for as long as the process lives: its context is retained and never released,
/// so that nothing which outlives a stream outlives it.
pub(crate) struct CudaDevice {
    ordinal: usize,
    raw: CUdevice,
    context: CUcontext,
    name: String,
    /// Major and minor.
    capability: (u32, u32),
    driver: (u32, u32),
    /// Whether memory is allocated and freed in stream order. Without, it is parked like host memory.
    pools: bool,
    pub(super) free: FreeList,
    /// Streams without handles, the oldest first.
    pub(super) orphans: Mutex<VecDeque<Orphan>>,
    /// Whether blocks are parked on any of them.
    pub(super) orphaned: AtomicBool,
    /// Events that nobody uses.
    events: Mutex<Vec<CUevent>>,
    pub(super) modules: Mutex<Vec<Module>>,
    pub(super) fill: OnceLock<CUfunction>,
}

// SAFETY: the driver's handles may be used from any thread; everything else is locked or constant.
unsafe impl Send for CudaDevice {}
// SAFETY: as above.
unsafe impl Sync for CudaDevice {}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CudaDevice {
    /// GPUs there are; none where the driver finds none.
    pub(crate) fn count() -> Result<usize, Error> {
        static INIT: OnceLock<Code> = OnceLock::new();
        // SAFETY: no preconditions.
        match *INIT.get_or_init(|| unsafe { raw::cuInit(0) }) {
            0 => {}
            raw::NO_DEVICE => return Ok(0),
            code => return Err(Error::Driver { op: OP, code }),
        }
        let mut count = 0;
        // SAFETY: the address is valid for the call.
        check(OP, unsafe { raw::cuDeviceGetCount(&raw mut count) })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The GPU with this number.
    pub(crate) fn get(ordinal: usize) -> Result<&'static CudaDevice, Error> {
        static DEVICES: Mutex<Vec<&'static CudaDevice>> = Mutex::new(Vec::new());
        let count = CudaDevice::count()?;
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        let mut devices = lock(&DEVICES);
        if let Some(device) = devices.iter().find(|device| device.ordinal == ordinal) {
            return Ok(device);
        }
        let device: &'static CudaDevice = Box::leak(Box::new(CudaDevice::open(ordinal)?));
        devices.push(device);
        Ok(device)
    }

    fn open(ordinal: usize) -> Result<CudaDevice, Error> {
        let mut raw_device: CUdevice = 0;
        // SAFETY: the addresses are valid for the calls, and the driver has been initialised (`count`).
        check(OP, unsafe { raw::cuDeviceGet(&raw mut raw_device, ordinal as c_int) })?;
        let mut name = [0; 128];
        // SAFETY: as above; the buffer has the length that is passed, and the driver ends the name with a zero.
        check(OP, unsafe { raw::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, raw_device) })?;
        // SAFETY: as said.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut context: CUcontext = ptr::null_mut();
        // SAFETY: as above. The context is never released.
        check(OP, unsafe { raw::cuDevicePrimaryCtxRetain(&raw mut context, raw_device) })?;
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: as above.
            check(OP, unsafe { raw::cuDeviceGetAttribute(&raw mut value, attribute, raw_device) })?;
            Ok::<c_int, Error>(value)
        };
        let major = attribute(raw::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(raw::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // A driver that does not know the attribute has no pools.
        // A memory checker takes the driver's pool for one block: without pools it finds an access beside a buffer.
        let wanted = std::env::var_os("ESCROW_CUDA_POOLS").is_none_or(|value| value != "0");
        let pools = wanted
            && matches!(attribute(raw::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), Ok(1))
            && memory::keep_pool(raw_device).is_ok();
        let mut version = 0;
        // SAFETY: as above.
        check(OP, unsafe { raw::cuDriverGetVersion(&raw mut version) })?;
        Ok(CudaDevice {
            ordinal,
            raw: raw_device,
            context,
            name,
            capability: (major.unsigned_abs(), minor.unsigned_abs()),
            driver: (version.unsigned_abs() / 1000, version.unsigned_abs() % 1000 / 10),
            pools,
            free: FreeList::new(),
            orphans: Mutex::new(VecDeque::new()),
            orphaned: AtomicBool::new(false),
            events: Mutex::new(Vec::new()),
            modules: Mutex::new(Vec::new()),
            fill: OnceLock::new(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(crate) fn capability(&self) -> (u32, u32) {
        self.capability
    }

    pub(crate) fn driver(&self) -> (u32, u32) {
        self.driver
    }

    pub(super) fn context(&self) -> CUcontext {
        self.context
    }

    pub(super) fn raw(&self) -> CUdevice {
        self.raw
    }

    #[inline]
    pub(super) fn has_pools(&self) -> bool {
        self.pools
    }

    /// Makes this device's context the thread's own until the value is dropped, for libraries that look for it there.
    pub(crate) fn enter(&'static self) -> Result<Entered, Error> {
        // SAFETY: the context is retained for good.
        check(OP, unsafe { raw::cuCtxPushCurrent_v2(self.context) })?;
        Ok(Entered(std::marker::PhantomData))
    }

    /// A call that needs this device's context. The thread's own context is back in place afterwards.
    pub(super) fn within(&self, call: impl FnOnce() -> Code) -> Code {
        // SAFETY: the context is retained for good.
        let pushed = unsafe { raw::cuCtxPushCurrent_v2(self.context) };
        if pushed != 0 {
            return pushed;
        }
        let code = call();
        let mut popped = ptr::null_mut();
        // SAFETY: the address is valid; what is popped is what was pushed above.
        let _ = unsafe { raw::cuCtxPopCurrent_v2(&raw mut popped) };
        code
    }

    /// A call with an explicit stream or event. Drivers take these without a context; one that answers 201 is asked again
    /// with it. A closure that holds its values by itself (`move`) costs nothing where the first answer is 0.
    #[inline(always)]
    pub(super) fn call(&self, call: impl Fn() -> Code) -> Code {
        let code = call();
        if code == 0 { code } else { self.ask_again(code, code == raw::INVALID_CONTEXT, call) }
    }

    /// A copy. Of pool memory a driver answers 1 while another device's context is current; it has enqueued nothing then,
    /// and a copy that were enqueued twice on one stream would change nothing.
    #[inline(always)]
    pub(super) fn call_copy(&self, call: impl Fn() -> Code) -> Code {
        let code = call();
        if code == 0 {
            code
        } else {
            self.ask_again(code, code == raw::INVALID_CONTEXT || code == raw::INVALID_VALUE, call)
        }
    }

    #[cold]
    #[inline(never)]
    fn ask_again(&self, code: Code, asks: bool, call: impl Fn() -> Code) -> Code {
        if asks { self.within(call) } else { code }
    }

    /// An event for one use.
    pub(super) fn take_event(&self) -> Result<CUevent, Error> {
        if let Some(event) = lock(&self.events).pop() {
            return Ok(event);
        }
        let mut event = ptr::null_mut();
        let create = || {
            // SAFETY: the address is valid for the call.
            unsafe { raw::cuEventCreate(&raw mut event, raw::EVENT_DISABLE_TIMING) }
        };
        check(Operation::Record, self.within(create))?;
        Ok(event)
    }

    /// Takes back an event whose waits have been enqueued.
    pub(super) fn put_event(&self, event: CUevent) {
        lock(&self.events).push(event);
    }

    /// Destroys an event whose state is not known.
    pub(super) fn destroy_event(&self, event: CUevent) {
        // SAFETY: the event is this device's and nobody else has it.
        let _ = self.within(|| unsafe { raw::cuEventDestroy_v2(event) });
    }

    /// Takes back a block whose last count is gone.
    pub(crate) fn give_back(&self, block: Box<Block>) {
        if matches!(block.storage(), Storage::Driver(Allocation::Foreign)) {
            return self.free.release(block.capacity());
        }
        // What exceeds the list goes back to the driver at the next trim only: giving it back may wait for the device.
        if let Err(block) = self.free.put(block) {
            self.free.keep(block);
        }
    }

    /// Gives free blocks back to the driver, which may wait for the device.
    pub(crate) fn trim(&self) {
        self.sweep();
        drop(self.free.drain());
        if self.pools {
            memory::trim_pool(self.raw);
        }
    }

    /// Free and total bytes of the device's memory.
    pub(crate) fn memory(&self) -> Result<MemoryInfo, Error> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the addresses are valid for the call.
        check(Operation::Query, self.within(|| unsafe { raw::cuMemGetInfo_v2(&raw mut free, &raw mut total) }))?;
        Ok(MemoryInfo { free, total })
    }
}
