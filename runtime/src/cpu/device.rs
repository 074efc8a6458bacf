//! The CPU device: its settings and its memory.

use std::sync::Arc;

use super::chaos::Scheduler;
use crate::block::{Block, Place};
use crate::error::{Error, Setting};
use crate::free_list::{FreeList, size_class};

/// A whole number at least `least` from the environment; `None` if the variable is not set.
fn number(name: &'static str, least: u64) -> Result<Option<u64>, Error> {
    let Some(value) = std::env::var_os(name) else { return Ok(None) };
    let value = value.to_string_lossy();
    match value.parse::<u64>() {
        Ok(n) if n >= least => Ok(Some(n)),
        _ => Err(Error::Setting(Box::new(Setting {
            name,
            value: value.into(),
            expected: if least == 0 {
                "a whole number is expected"
            } else {
                "a whole number of at least 1 is expected"
            },
        }))),
    }
}

/// Cores that one context may use.
fn threads_of_environment() -> Result<usize, Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    number("ESCROW_CPU_THREADS", 1).map(|n| n.map_or(cores, |n| usize::try_from(n).unwrap_or(cores).min(cores)))
}

/// The CPU device: its settings and its memory.
pub(crate) struct CpuDevice {
    /// Cores that one context uses. A setting that cannot be used is reported by the first context.
    threads: Result<usize, Error>,
    seed: Result<Option<u64>, Error>,
    chaos: Option<Arc<Scheduler>>,
    free: FreeList,
}

impl CpuDevice {
    /// The device, under chaos if there is a seed.
    pub(crate) fn new(chaos: Option<u64>) -> CpuDevice {
        CpuDevice::with(threads_of_environment(), Ok(chaos))
    }

    /// The device as the environment wants it.
    pub(crate) fn from_environment() -> CpuDevice {
        CpuDevice::with(threads_of_environment(), number("ESCROW_CPU_CHAOS", 0))
    }

    /// The device of one PE of several in this process: its share of the cores, and an order of its own under chaos.
    /// `ESCROW_CPU_THREADS` is the number for each PE.
    pub(crate) fn of_pe(&self, pe: usize, pes: usize) -> CpuDevice {
        let threads = if std::env::var_os("ESCROW_CPU_THREADS").is_some() {
            self.threads.clone()
        } else {
            self.threads.clone().map(|threads| (threads / pes.max(1)).max(1))
        };
        CpuDevice::with(threads, self.seed.clone().map(|seed| seed.map(|seed| seed.rotate_left(32) ^ pe as u64)))
    }

    fn with(threads: Result<usize, Error>, seed: Result<Option<u64>, Error>) -> CpuDevice {
        let chaos = seed.as_ref().ok().copied().flatten().map(Scheduler::new);
        CpuDevice { threads, seed, chaos, free: FreeList::new() }
    }

    pub(crate) fn threads(&self) -> Result<usize, Error> {
        self.threads.clone()
    }

    pub(crate) fn scheduler(&self) -> Result<Option<Arc<Scheduler>>, Error> {
        self.seed.as_ref().map_err(Error::clone)?;
        Ok(self.chaos.clone())
    }

    pub(crate) fn is_chaotic(&self) -> bool {
        self.chaos.is_some()
    }

    /// Bytes in live buffers and parked blocks.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.free.held()
    }

    /// A block that nobody uses, of at least `bytes` bytes.
    pub(crate) fn take(&self, place: Place, bytes: usize) -> Result<Box<Block>, Error> {
        let no_memory = || Error::OutOfMemory { place: place.memory(), asked: bytes, held: self.free.held() };
        let class = size_class(bytes).ok_or_else(no_memory)?;
        if let Some(block) = self.free.take(place, class) {
            return Ok(block);
        }
        let mut block = Block::from_system(place, class)
            .or_else(|| {
                self.trim();
                Block::from_system(place, class)
            })
            .ok_or_else(no_memory)?;
        if self.is_chaotic() {
            block.poison();
        }
        self.free.lend(class);
        Ok(block)
    }

    /// Takes back a block whose last count is gone.
    pub(crate) fn give_back(&self, mut block: Box<Block>) {
        if self.is_chaotic() {
            block.poison();
        }
        drop(self.free.put(block));
    }

    pub(crate) fn trim(&self) {
        drop(self.free.drain());
    }
}
