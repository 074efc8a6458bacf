//! Devices: where work runs.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::block::{Block, Place};
use crate::cpu::Scheduler;
use crate::error::{Error, Setting};

/// Bytes that a device keeps on its free lists; a block that would exceed it goes back to the system.
const KEPT_BYTES: usize = 512 << 20;

/// Where work runs, picked when the program runs. A clone is the same device.
///
/// ```
/// use escrow::Device;
/// let device = Device::default_device()?;
/// assert_eq!(device, Device::cpu());
/// # Ok::<(), escrow::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(pub(crate) Arc<CpuDevice>);

impl Device {
    /// The CPU as a device: always there, asynchronous like any other. Each context has a worker thread; copies, fills
    /// and kernels use up to `ESCROW_CPU_THREADS` cores (all, if that is not set).
    ///
    /// With `ESCROW_CPU_CHAOS=<seed>` in the environment this is [`Device::cpu_chaos`] of that seed.
    ///
    /// ```
    /// use escrow::Device;
    /// assert_eq!(Device::cpu(), Device::cpu()); // one device, however often it is named
    /// assert_ne!(Device::cpu(), Device::cpu_chaos(1));
    /// ```
    pub fn cpu() -> Device {
        static CPU: LazyLock<Device> =
            LazyLock::new(|| Device(Arc::new(CpuDevice::new(number("ESCROW_CPU_CHAOS", 0)))));
        CPU.clone()
    }

    /// A CPU device of its own that makes ordering mistakes show: it delays operations until something forces them,
    /// runs those of different streams in an order drawn from `seed` as far as events allow, and overwrites freed and
    /// never-written memory. The same seed and the same calls give the same order.
    ///
    /// ```
    /// use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// let ctx = DeviceContext::new(Device::cpu_chaos(7))?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// assert_eq!(dev.to_vec()?, [0; 4]);
    /// # Ok(()) }
    /// ```
    pub fn cpu_chaos(seed: u64) -> Device {
        Device(Arc::new(CpuDevice::new(Ok(Some(seed)))))
    }

    /// The device to use if nothing else is said: the CPU.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// let ctx = DeviceContext::new(Device::default_device()?)?;
    /// assert!(Device::all().contains(ctx.device()));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// None on the devices there are now.
    pub fn default_device() -> Result<Device, Error> {
        Ok(Device::cpu())
    }

    /// All devices there are.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::all()[0], Device::cpu());
    /// ```
    pub fn all() -> Vec<Device> {
        vec![Device::cpu()]
    }

    /// A name for people.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::cpu_chaos(7).name(), "cpu (chaos)");
    /// ```
    pub fn name(&self) -> String {
        match &self.0.chaos {
            Ok(Some(_)) => "cpu (chaos)".to_owned(),
            _ => "cpu".to_owned(),
        }
    }

    /// Gives the memory on the free lists back to the system. Live buffers and parked blocks stay as they are.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let kept = ctx.create_host_buffer_from(&[7u8])?;
    /// drop(ctx.create_host_buffer::<u8>(1 << 20)?); // on the free list, for the next buffer of about that size
    /// ctx.device().trim();
    /// assert_eq!(kept[0], 7);
    /// # Ok(()) }
    /// ```
    pub fn trim(&self) {
        self.0.trim();
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

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

/// The CPU device: its settings and its free lists.
pub(crate) struct CpuDevice {
    /// Cores that one context uses. A setting that cannot be used is reported by the first context.
    threads: Result<usize, Error>,
    chaos: Result<Option<Arc<Scheduler>>, Error>,
    /// Blocks that nobody uses. A lock, held for a push or a pop only, so a drop never waits for work.
    #[allow(clippy::vec_box)] // a block does not move while it is free: it is lent out by its address
    free: Mutex<Vec<Box<Block>>>,
    kept: AtomicUsize,
    held: AtomicUsize,
}

impl CpuDevice {
    fn new(chaos: Result<Option<u64>, Error>) -> CpuDevice {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        CpuDevice {
            threads: number("ESCROW_CPU_THREADS", 1)
                .map(|n| n.map_or(cores, |n| usize::try_from(n).unwrap_or(cores).min(cores))),
            chaos: chaos.map(|seed| seed.map(Scheduler::new)),
            free: Mutex::new(Vec::new()),
            kept: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
        }
    }

    pub(crate) fn threads(&self) -> Result<usize, Error> {
        self.threads.clone()
    }

    pub(crate) fn scheduler(&self) -> Result<Option<Arc<Scheduler>>, Error> {
        self.chaos.clone()
    }

    fn is_chaotic(&self) -> bool {
        matches!(self.chaos, Ok(Some(_)))
    }

    /// Bytes in live buffers and parked blocks.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// A block that nobody uses, of at least `bytes` bytes.
    pub(crate) fn take(&self, place: Place, bytes: usize) -> Option<Box<Block>> {
        let class = size_class(bytes)?;
        let found = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            // The newest first: its memory is the likeliest to be in a cache.
            let at = free.iter().rposition(|block| block.place() == place && block.capacity() == class);
            at.map(|at| free.swap_remove(at))
        };
        let block = if let Some(block) = found {
            self.kept.fetch_sub(class, Ordering::Relaxed);
            block
        } else {
            let mut block = Block::from_system(place, class).or_else(|| {
                self.trim();
                Block::from_system(place, class)
            })?;
            if self.is_chaotic() {
                block.poison();
            }
            block
        };
        self.held.fetch_add(class, Ordering::Relaxed);
        Some(block)
    }

    /// Takes back a block whose last count is gone.
    pub(crate) fn give_back(&self, mut block: Box<Block>) {
        let bytes = block.capacity();
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        if self.is_chaotic() {
            block.poison();
        }
        if self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES {
            self.kept.fetch_sub(bytes, Ordering::Relaxed);
            drop(block);
        } else {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        }
    }

    fn trim(&self) {
        let blocks = std::mem::take(&mut *self.free.lock().unwrap_or_else(PoisonError::into_inner));
        let bytes: usize = blocks.iter().map(|block| block.capacity()).sum();
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The size that a request is served with: four classes to a doubling, so at most a quarter is unused.
fn size_class(bytes: usize) -> Option<usize> {
    let step = (bytes.max(256).checked_next_power_of_two()? / 8).max(64);
    bytes.max(64).checked_next_multiple_of(step).filter(|&class| isize::try_from(class).is_ok())
}
