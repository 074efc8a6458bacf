//! Modules, their kernels, and launches.

use std::sync::Arc;

use crate::abi::*;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::ptx::{self, Entry, Grid};
use crate::shadow::Access;

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) ctx: u64,
    pub(crate) entries: Vec<Arc<Entry>>,
    /// Handles given out, by entry.
    pub(crate) functions: Vec<u64>,
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) ctx: u64,
    pub(crate) module: u64,
    pub(crate) entry: Arc<Entry>,
    /// Dynamic shared memory that a launch may ask for.
    pub(crate) dynamic_limit: u32,
}

/// A launch that waits for its turn.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) entry: Arc<Entry>,
    pub(crate) grid: Grid,
    /// The parameters, copied at the call as the driver does.
    pub(crate) params: Box<[u8]>,
}

impl Launch {
    /// Runs the kernel. An error is the context's from then on.
    pub(crate) fn run(&self, driver: &mut Driver, who: Access, clock: &Clock) -> Result<(), CUresult> {
        ptx::run(driver, &self.entry, self.grid, &self.params, who, clock)
    }
}

impl Driver {
    /// Drops a module and its kernels. Launches that are enqueued keep what they need.
    pub(crate) fn unload(&mut self, module: u64) {
        if let Some(module) = self.modules.remove(module) {
            for function in module.functions {
                self.functions.remove(function);
            }
        }
    }
}
