//! Device code: loaded once for each device.

use std::ffi::CString;
use std::ptr;

use super::check;
use super::device::{CudaDevice, lock};
use super::raw::{self, CUfunction, CUmodule};
use crate::device::{Device, Kind};
use crate::error::{Error, Operation};

const OP: Operation = Operation::Create;

/// A module that is loaded for good, and what was taken out of it.
pub(super) struct Module {
    /// Where the image lies: an image is a constant of the program.
    image: *const u8,
    raw: CUmodule,
    functions: Vec<(String, CUfunction)>,
}

// SAFETY: the driver's handles may be used from any thread, and the image's address is compared only.
unsafe impl Send for Module {}

/// Functions of `image`, which ends in a zero, by their names.
pub(super) fn functions(device: &CudaDevice, image: &'static str, names: &[&str]) -> Result<Vec<CUfunction>, Error> {
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
    fn function(&mut self, device: &CudaDevice, name: &str) -> Result<CUfunction, Error> {
        if let Some((_, function)) = self.functions.iter().find(|(known, _)| known == name) {
            return Ok(*function);
        }
        let c_name = CString::new(name).map_err(|_| Error::Driver { op: OP, code: 1 })?;
        let mut function = ptr::null_mut();
        // SAFETY: the module lives, the name ends in a zero, and the address is valid for the call.
        let code = device.within(|| unsafe { raw::cuModuleGetFunction(&raw mut function, self.raw, c_name.as_ptr()) });
        check(OP, code)?;
        self.functions.push((name.to_owned(), function));
        Ok(function)
    }
}

/// The device code of a kernel set: one function for each kernel, none on the CPU device.
#[derive(Clone, Debug)]
pub struct Functions(Vec<CUfunction>);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl Functions {
    /// Loads `names` from PTX text that ends in a zero, if `device` is a GPU.
    pub fn load(device: &Device, ptx: Option<&'static str>, names: &[&str]) -> Result<Functions, Error> {
        match (device.kind(), ptx) {
            (Kind::Cuda(cuda), Some(ptx)) => functions(cuda, ptx, names).map(Functions),
            _ => Ok(Functions(Vec::new())),
        }
    }

    /// The function of kernel `at`.
    pub(crate) fn get(&self, at: usize) -> Option<CUfunction> {
        self.0.get(at).copied()
    }
}
