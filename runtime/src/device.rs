//! Devices: where work runs.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::block::Block;
use crate::cpu::CpuDevice;
#[cfg(feature = "cuda")]
use crate::cuda::CudaDevice;
use crate::error::{Error, Operation};

/// Where work runs, picked when the program runs. A clone is the same device.
///
/// ```
/// use escrow::Device;
/// let device = Device::default_device()?;
/// println!("on {device}");
/// assert_eq!(device, device.clone());
/// # Ok::<(), escrow::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(Kind);

/// The kinds of device there are.
#[derive(Clone)]
pub(crate) enum Kind {
    Cpu(Arc<CpuDevice>),
    /// There is one of each GPU, for good.
    #[cfg(feature = "cuda")]
    Cuda(&'static CudaDevice),
}

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
        static CPU: LazyLock<Device> = LazyLock::new(|| Device(Kind::Cpu(Arc::new(CpuDevice::from_environment()))));
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
        Device(Kind::Cpu(Arc::new(CpuDevice::new(Some(seed)))))
    }

    /// The device to use if nothing else is said: the first GPU if the feature `cuda` is built in and there is one, else
    /// the CPU.
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
    /// [`Error::Driver`] if there is a GPU that does not work; none without the feature `cuda`.
    pub fn default_device() -> Result<Device, Error> {
        #[cfg(feature = "cuda")]
        if CudaDevice::count()? > 0 {
            return Device::cuda(0);
        }
        Ok(Device::cpu())
    }

    /// The GPU with this number, through the CUDA driver.
    ///
    /// ```
    /// # use escrow::{Device, Error};
    /// match Device::cuda(0) {
    ///     Ok(gpu) => println!("{gpu}"),
    ///     Err(Error::NoDevice { count: 0, .. }) => println!("no GPU here"),
    ///     Err(error) => println!("{error}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no such GPU, or no driver that works; [`Error::Driver`].
    #[cfg(feature = "cuda")]
    pub fn cuda(ordinal: usize) -> Result<Device, Error> {
        CudaDevice::get(ordinal).map(Device::of_cuda)
    }

    /// All devices there are and that work: the CPU, then the GPUs.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::all()[0], Device::cpu());
    /// ```
    pub fn all() -> Vec<Device> {
        #[allow(unused_mut)] // grows with the feature `cuda`
        let mut all = vec![Device::cpu()];
        #[cfg(feature = "cuda")]
        all.extend((0..CudaDevice::count().unwrap_or(0)).filter_map(|ordinal| Device::cuda(ordinal).ok()));
        all
    }

    /// A name for people.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::cpu_chaos(7).name(), "cpu (chaos)");
    /// ```
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::Cpu(cpu) if cpu.is_chaotic() => "cpu (chaos)".to_owned(),
            Kind::Cpu(_) => "cpu".to_owned(),
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => cuda.name().to_owned(),
        }
    }

    /// How much memory the device has: a GPU its own, the CPU the machine's. What lies on this library's free lists is not
    /// free here; [`trim`](Device::trim) gives it back.
    ///
    /// ```
    /// # use escrow::Device;
    /// # fn main() -> Result<(), escrow::Error> {
    /// let memory = Device::default_device()?.memory_info()?;
    /// println!("{} of {} MiB are free", memory.free >> 20, memory.total >> 20);
    /// assert!(memory.free <= memory.total);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`]; [`Error::Refused`] for the CPU of a system other than Linux, or one that hides `/proc/meminfo`.
    pub fn memory_info(&self) -> Result<MemoryInfo, Error> {
        match &self.0 {
            Kind::Cpu(_) => {
                let why = "the system does not tell how much memory there is";
                let told = std::fs::read_to_string("/proc/meminfo").ok();
                told.and_then(|text| MemoryInfo::of_system(&text)).ok_or(Error::Refused { op: Operation::Query, why })
            }
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => cuda.memory(),
        }
    }

    /// Major and minor number of what a GPU can do: `(9, 0)` runs what was compiled for `sm_90`. `None` for the CPU.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::cpu().compute_capability(), None);
    /// for gpu in Device::all().iter().filter(|device| device.compute_capability() >= Some((8, 0))) {
    ///     println!("{gpu} has bf16 arithmetic");
    /// }
    /// ```
    pub fn compute_capability(&self) -> Option<(u32, u32)> {
        match &self.0 {
            Kind::Cpu(_) => None,
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => Some(cuda.capability()),
        }
    }

    /// Major and minor number of the CUDA version that a GPU's driver supports. `None` for the CPU, which has no driver.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::cpu().driver_version(), None);
    /// for gpu in Device::all() {
    ///     if let Some((major, minor)) = gpu.driver_version() {
    ///         println!("{gpu}: CUDA {major}.{minor}");
    ///     }
    /// }
    /// ```
    pub fn driver_version(&self) -> Option<(u32, u32)> {
        match &self.0 {
            Kind::Cpu(_) => None,
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => Some(cuda.driver()),
        }
    }

    /// The number of a GPU, as `Device::cuda` takes it. `None` for the CPU.
    ///
    /// ```
    /// # use escrow::Device;
    /// assert_eq!(Device::cpu().ordinal(), None);
    /// let numbers: Vec<usize> = Device::all().iter().filter_map(Device::ordinal).collect(); // of all GPUs
    /// assert!(numbers.is_sorted());
    /// ```
    pub fn ordinal(&self) -> Option<usize> {
        match &self.0 {
            Kind::Cpu(_) => None,
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => Some(cuda.ordinal()),
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
        match &self.0 {
            Kind::Cpu(cpu) => cpu.trim(),
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => cuda.trim(),
        }
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn of_cuda(cuda: &'static CudaDevice) -> Device {
        Device(Kind::Cuda(cuda))
    }

    /// Whether nothing runs here but at calls for this device.
    /// The CPU device of one PE of several in this process; `None` if this is no CPU device.
    #[cfg_attr(not(feature = "cuda"), allow(clippy::unnecessary_wraps))]
    pub(crate) fn of_pe(&self, pe: usize, pes: usize) -> Option<Device> {
        match &self.0 {
            Kind::Cpu(cpu) => Some(Device(Kind::Cpu(Arc::new(cpu.of_pe(pe, pes))))),
            #[cfg(feature = "cuda")]
            Kind::Cuda(_) => None,
        }
    }

    pub(crate) fn is_chaotic(&self) -> bool {
        match &self.0 {
            Kind::Cpu(cpu) => cpu.is_chaotic(),
            #[cfg(feature = "cuda")]
            Kind::Cuda(_) => false,
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    /// Takes back a block whose last count is gone.
    pub(crate) fn give_back(&self, block: Box<Block>) {
        match &self.0 {
            Kind::Cpu(cpu) => cpu.give_back(block),
            #[cfg(feature = "cuda")]
            Kind::Cuda(cuda) => cuda.give_back(block),
        }
    }

    /// Whether host memory of one is host memory to the other: pinned memory is, over all GPUs.
    #[inline]
    pub(crate) fn shares_host_memory_with(&self, other: &Device) -> bool {
        std::mem::discriminant(&self.0) == std::mem::discriminant(&other.0)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        match (&self.0, &other.0) {
            (Kind::Cpu(a), Kind::Cpu(b)) => Arc::ptr_eq(a, b),
            #[cfg(feature = "cuda")]
            (Kind::Cuda(a), Kind::Cuda(b)) => std::ptr::eq(*a, *b),
            #[cfg(feature = "cuda")]
            _ => false,
        }
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

/// How much memory a device has, in bytes: what [`Device::memory_info`] returns.
///
/// ```
/// # use escrow::{Device, MemoryInfo};
/// # fn main() -> Result<(), escrow::Error> {
/// let MemoryInfo { free, total, .. } = Device::cpu().memory_info()?;
/// println!("{}% in use", 100 - 100 * free / total);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Bytes that nobody uses. Others may take them at any time.
    pub free: usize,
    /// Bytes in all.
    pub total: usize,
}

impl MemoryInfo {
    /// What Linux says in `/proc/meminfo`.
    fn of_system(text: &str) -> Option<MemoryInfo> {
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)
        };
        Some(MemoryInfo { free: bytes("MemAvailable:")?, total: bytes("MemTotal:")? })
    }
}
