//! Memory of the user that is pinned for the length of a scope.

use std::process::abort;
use std::ptr;
use std::sync::Mutex;

use super::check;
use super::device::{CudaDevice, lock};
use super::raw;
use crate::error::{Error, Operation};

/// What a scope has pinned. It lies in the frame of the scope, where no user can forget it.
#[derive(Default)]
pub(crate) struct Registrations(Mutex<Vec<Registration>>);

struct Registration {
    device: &'static CudaDevice,
    address: usize,
}

impl Registrations {
    /// Pins `bytes` bytes, at least one.
    ///
    /// # Safety
    /// The memory is valid, and stays so until [`Registrations::end`] has returned.
    pub(crate) unsafe fn add(&self, device: &'static CudaDevice, base: *mut u8, bytes: usize) -> Result<(), Error> {
        let mut list = lock(&self.0);
        list.reserve(1); // before the call: what is pinned is in the list, whatever happens
        let pin = || {
            // SAFETY: this function's contract.
            unsafe { raw::cuMemHostRegister_v2(base.cast(), bytes, raw::HOST_REGISTER_PORTABLE) }
        };
        check(Operation::Register, device.within(pin))?;
        list.push(Registration { device, address: base.expose_provenance() });
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Unpins everything. The stream has passed all that uses it.
    ///
    /// Ends the process if that fails: a later copy at such an address would go to pages that are no longer there.
    pub(crate) fn end(&self) {
        for Registration { device, address } in lock(&self.0).drain(..) {
            let base = ptr::with_exposed_provenance_mut(address);
            // SAFETY: it was pinned by `add`, and this is the one time that it is unpinned.
            if device.within(|| unsafe { raw::cuMemHostUnregister(base) }) != 0 {
                abort();
            }
        }
    }
}
