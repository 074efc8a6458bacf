//! Device code: loaded once for each device.

use std::ffi::{CString, c_int};
use std::ptr;

use super::check;
use super::device::{CudaDevice, lock};
use super::raw::{self, CUdevice_attribute, CUfunction, CUfunction_attribute, CUmodule, Code};
use crate::device::{Device, Kind};
use crate::error::{Error, Operation};
use crate::kernel::{Launch, wrong_geometry};

const OP: Operation = Operation::Load;

/// A module that is loaded for good, and what was taken out of it.
pub(super) struct Module {
    /// Where the image lies: an image is a constant of the program.
    image: *const u8,
    raw: CUmodule,
    functions: Vec<(&'static str, Function)>,
}

// SAFETY: the driver's handles may be used from any thread, and the image's address is compared only.
unsafe impl Send for Module {}

/// A kernel, and what it admits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    raw: CUfunction,
    /// Threads of a block, which its registers and `.maxntid` bound.
    threads: u32,
    /// Bytes of dynamic shared memory of a block.
    shared: u32,
}

/// Functions of `image`, which ends in a zero, by their names.
pub(super) fn functions(
    device: &CudaDevice,
    image: &'static str,
    names: &[&'static str],
) -> Result<Vec<CUfunction>, Error> {
    Ok(load(device, image, names)?.iter().map(|function| function.raw).collect())
}

fn load(device: &CudaDevice, image: &'static str, names: &[&'static str]) -> Result<Vec<Function>, Error> {
    debug_assert!(image.ends_with('\0'));
    let mut modules = lock(&device.modules);
    let at = if let Some(at) = modules.iter().position(|module| module.image == image.as_ptr()) {
        at
    } else {
        let mut raw = ptr::null_mut();
        // SAFETY: the image is text that ends in a zero, and the address is valid for the call.
        check(OP, device.within(|| unsafe { raw::cuModuleLoadData(&raw mut raw, image.as_ptr().cast()) }))?;
        modules.push(Module { image: image.as_ptr(), raw, functions: Vec::new() });
        modules.len() - 1
    };
    let module = &mut modules[at];
    names.iter().map(|name| module.function(device, name)).collect()
}

impl Module {
    fn function(&mut self, device: &CudaDevice, name: &'static str) -> Result<Function, Error> {
        if let Some((_, function)) = self.functions.iter().find(|(known, _)| *known == name) {
            return Ok(*function);
        }
        let c_name = CString::new(name).map_err(|_| Error::NoFunction { kernel: name })?;
        let mut function = Function { raw: ptr::null_mut(), threads: 0, shared: 0 };
        // SAFETY: the module lives, the name ends in a zero, and the address is valid for the call.
        match device.within(|| unsafe { raw::cuModuleGetFunction(&raw mut function.raw, self.raw, c_name.as_ptr()) }) {
            raw::NOT_FOUND => return Err(Error::NoFunction { kernel: name }),
            code => check(OP, code)?,
        }
        check(OP, device.within(|| function.ask_limits()))?;
        self.functions.push((name, function));
        Ok(function)
    }
}

impl Function {
    /// Fills in what the driver admits, with as much dynamic shared memory as the device has beside the static.
    fn ask_limits(&mut self) -> Code {
        use CUfunction_attribute::{
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as DYNAMIC,
            CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as THREADS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as STATIC,
        };
        const SHARED: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let (mut device, mut in_all, mut fixed, mut threads, mut dynamic): (_, c_int, c_int, c_int, c_int) =
            (0, 0, 0, 0, 0);
        // SAFETY: the addresses are valid for the calls, the function lives, and its device's context is current.
        let code = unsafe {
            match raw::cuFuncGetAttribute(&raw mut threads, THREADS, self.raw) {
                0 => {}
                code => return code,
            }
            // More than 48 KiB have to be asked for. Where that fails, the limit stays what it was.
            if raw::cuFuncGetAttribute(&raw mut fixed, STATIC, self.raw) == 0
                && raw::cuCtxGetDevice(&raw mut device) == 0
                && raw::cuDeviceGetAttribute(&raw mut in_all, SHARED, device) == 0
                && in_all > fixed
            {
                let _ = raw::cuFuncSetAttribute(self.raw, DYNAMIC, in_all - fixed);
            }
            raw::cuFuncGetAttribute(&raw mut dynamic, DYNAMIC, self.raw)
        };
        self.threads = u32::try_from(threads).unwrap_or(0);
        self.shared = u32::try_from(dynamic).unwrap_or(0);
        code
    }

    /// The driver's handle, for a launch that the device admits.
    #[inline]
    pub(crate) fn admit(&self, kernel: &'static str, launch: &Launch) -> Result<CUfunction, Error> {
        let [x, y, z] = launch.block;
        // A block has at most 1024 threads (`Launch::threads`).
        if x * y * z > self.threads || launch.shared > self.shared {
            return Err(self.refuse(kernel, launch));
        }
        Ok(self.raw)
    }

    #[cold]
    fn refuse(&self, kernel: &'static str, launch: &Launch) -> Error {
        let condition = if launch.shared > self.shared {
            format!(
                "{} bytes of dynamic shared memory are more than this GPU has for it: {}",
                launch.shared, self.shared
            )
        } else {
            format!("a block of {:?} threads is more than its registers admit: {}", launch.block, self.threads)
        };
        wrong_geometry(kernel, condition, launch)
    }
}

/// The device code of a kernel set: one function for each kernel, none on the CPU device.
#[derive(Clone, Debug)]
pub struct Functions(Vec<Function>);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl Functions {
    /// Loads `names` from PTX text that ends in a zero, if `device` is a GPU.
    pub fn load(device: &Device, ptx: Option<&'static str>, names: &[&'static str]) -> Result<Functions, Error> {
        match (device.kind(), ptx) {
            (Kind::Cuda(cuda), Some(ptx)) => load(cuda, ptx, names).map(Functions),
            _ => Ok(Functions(Vec::new())),
        }
    }

    /// The function of kernel `at`.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Function> {
        self.0.get(at)
    }
}
