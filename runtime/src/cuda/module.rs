//! Device code: loaded once for each device.

use std::ffi::{CString, c_int};
use std::ptr;

use super::check;
use super::device::{CudaDevice, lock};
use super::raw::{self, CUdevice_attribute, CUfunction, CUfunction_attribute, CUmodule, Code};
use crate::device::{Device, Kind};
use crate::error::{Error, Operation};
use crate::kernel::call::Entry;
use crate::kernel::{Launch, wrong_geometry};

const OP: Operation = Operation::Load;

/// A module that is loaded for good, and what was taken out of it.
pub(super) struct Module {
    /// Where the image lies: one that is kept is a constant of the program.
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
    // The driver reads up to the zero.
    if !image.ends_with('\0') {
        return Err(Error::Refused { op: OP, why: "a PTX text without a zero at its end" });
    }
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

/// Loads an image that comes when the program runs, anew with each call.
///
/// # Safety
/// The image is whole: the driver gets no length.
unsafe fn load_image(device: &CudaDevice, image: &[u8], entries: &[Entry]) -> Result<Vec<Function>, Error> {
    // Behind text the driver wants a zero, and objects it wants aligned.
    let mut words = vec![0u64; image.len() / 8 + 1];
    bytemuck::cast_slice_mut(&mut words)[..image.len()].copy_from_slice(image);
    let mut raw = ptr::null_mut();
    // SAFETY: this function's contract; text ends in a zero. The driver copies what it needs.
    check(OP, device.within(|| unsafe { raw::cuModuleLoadData(&raw mut raw, words.as_ptr().cast()) }))?;
    let mut module = Module { image: ptr::null(), raw, functions: Vec::new() };
    let functions = module.join_job(device).and_then(|()| module.entries(device, entries));
    if functions.is_err() {
        // SAFETY: nothing of the module has run, and nobody has its functions.
        let _ = device.within(|| unsafe { raw::cuModuleUnload(raw) });
    }
    functions
}

impl Module {
    /// Tells NVSHMEM of a module whose kernels call it, if this process is a PE of a job on GPUs.
    fn join_job(&self, device: &CudaDevice) -> Result<(), Error> {
        let Some(job) = crate::symmetric::job_on_gpu() else { return Ok(()) };
        let (mut address, mut bytes) = (0, 0);
        // What the library keeps in each such module.
        let name = c"nvshmemi_device_state_d".as_ptr();
        // SAFETY: the module lives, the name ends in a zero, and the addresses are valid for the call.
        let find = || unsafe { raw::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, self.raw, name) };
        match device.within(find) {
            raw::NOT_FOUND => Ok(()),
            code => {
                check(OP, code)?;
                // SAFETY: the module lives, and is one for NVSHMEM.
                let code = device.within(|| unsafe { job.init_module(self.raw.cast()) });
                let why = "NVSHMEM did not take the module: was it built for this version of the library?";
                if code == 0 { Ok(()) } else { Err(Error::Refused { op: OP, why }) }
            }
        }
    }

    fn entries(&mut self, device: &CudaDevice, entries: &[Entry]) -> Result<Vec<Function>, Error> {
        // Where the declaration of a kernel is left out by `cfg`, nobody launches what stands in its place.
        let count = entries.iter().map(|entry| entry.at + 1).max().unwrap_or(0);
        let mut functions = vec![Function::NONE; count];
        for entry in entries {
            let function = self.function(device, entry.name)?;
            function.compare(device, entry)?;
            functions[entry.at] = function;
        }
        Ok(functions)
    }

    fn function(&mut self, device: &CudaDevice, name: &'static str) -> Result<Function, Error> {
        if let Some((_, function)) = self.functions.iter().find(|(known, _)| *known == name) {
            return Ok(*function);
        }
        let c_name = CString::new(name).map_err(|_| Error::NoFunction { kernel: name })?;
        let mut function = Function::NONE;
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
    /// Admits no launch.
    const NONE: Function = Function { raw: ptr::null_mut(), threads: 0, shared: 0 };

    /// Compares the parameters with those of the declaration, where the driver knows them.
    fn compare(&self, device: &CudaDevice, entry: &Entry) -> Result<(), Error> {
        let Some(info) = raw::func_get_param_info() else { return Ok(()) };
        // One more than declared: there must be none.
        for (index, declared) in entry.sizes.iter().copied().map(Some).chain([None]).enumerate() {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function lives, and the addresses are valid for the call.
            let code = device.within(|| unsafe { info(self.raw, index, &raw mut offset, &raw mut size) });
            let found = match code {
                raw::INVALID_VALUE => None,
                code => check(OP, code).map(|()| Some(size))?,
            };
            if found != declared {
                let bytes = |size: Option<usize>| size.unwrap_or(0) as u32;
                return Err(Error::WrongParameter {
                    kernel: entry.name,
                    index: index as u32,
                    declared: bytes(declared),
                    found: bytes(found),
                });
            }
        }
        Ok(())
    }

    /// Blocks that the GPU runs at the same time, for a launch that [`admit`](Function::admit) admits.
    pub(super) fn max_blocks(&self, op: Operation, device: &CudaDevice, launch: &Launch) -> Result<u32, Error> {
        const COUNT: CUdevice_attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let threads = launch.block.iter().product::<u32>() as c_int;
        let (mut here, mut blocks, mut multiprocessors) = (0, 0, 0);
        let ask = || {
            // SAFETY: the addresses are valid for the calls, the function lives, and its device's context is current.
            unsafe {
                let shared = launch.shared as usize;
                match raw::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, self.raw, threads, shared) {
                    0 => {}
                    code => return code,
                }
                match raw::cuCtxGetDevice(&raw mut here) {
                    0 => raw::cuDeviceGetAttribute(&raw mut multiprocessors, COUNT, here),
                    code => code,
                }
            }
        };
        check(op, device.within(ask))?;
        Ok(blocks.unsigned_abs().saturating_mul(multiprocessors.unsigned_abs()))
    }

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
            return Err(self.refuse(kernel, *launch));
        }
        Ok(self.raw)
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, kernel: &'static str, launch: Launch) -> Error {
        let condition = if launch.shared > self.shared {
            format!(
                "{} bytes of dynamic shared memory are more than this GPU has for it: {}",
                launch.shared, self.shared
            )
        } else {
            format!("a block of {:?} threads is more than its registers admit: {}", launch.block, self.threads)
        };
        wrong_geometry(kernel, condition, &launch)
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

    /// Loads a PTX text, cubin or fatbin that comes when the program runs, if `device` is a GPU.
    ///
    /// # Safety
    /// The image is whole, and holds what the declarations of `entries` promise.
    pub unsafe fn load_image(device: &Device, image: &[u8], entries: &[Entry]) -> Result<Functions, Error> {
        match device.kind() {
            // SAFETY: this function's contract.
            Kind::Cuda(cuda) => unsafe { load_image(cuda, image, entries) }.map(Functions),
            Kind::Cpu(..) => Ok(Functions(Vec::new())),
        }
    }

    /// Blocks of kernel `at` that run at the same time on a GPU.
    pub fn max_blocks(
        &self,
        device: &Device,
        kernel: &'static str,
        at: Option<usize>,
        launch: &Launch,
    ) -> Result<Option<u32>, Error> {
        launch.threads(kernel)?;
        let Kind::Cuda(cuda) = device.kind() else { return Ok(None) };
        let function = at.and_then(|at| self.get(at)).ok_or(Error::NoBody { kernel })?;
        function.admit(kernel, launch)?;
        function.max_blocks(Operation::Query, cuda, launch).map(Some)
    }

    /// The function of kernel `at`.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Function> {
        self.0.get(at)
    }
}
