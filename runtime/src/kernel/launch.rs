//! Launch geometry.

use crate::error::{Error, Requirement};

/// Threads of a block in a launch that covers a span.
const COVER_BLOCK: u32 = 256;

/// What every device admits in a grid: CUDA's limits, also on the CPU device, so that a program that runs there runs on
/// a GPU too.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_THREADS: u64 = 1024;
/// Blocks of a cluster, on every GPU that has clusters.
const MAX_CLUSTER: u64 = 8;

/// The size of a grid or a block in one to three dimensions; the dimensions left out are 1.
///
/// ```
/// use escrow::Dim;
/// assert_eq!(Dim::from(4), Dim::from((4, 1, 1)));
/// assert_eq!(Dim::from((4, 2)), Dim::from([4, 2, 1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim(
    /// x, y and z.
    pub [u32; 3],
);

impl From<u32> for Dim {
    fn from(x: u32) -> Dim {
        Dim([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Dim {
        Dim([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Dim {
        Dim([x, y, z])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(dim: [u32; 3]) -> Dim {
        Dim(dim)
    }
}

/// Grid, block and dynamic shared memory of a launch that the caller chooses.
///
/// Most kernels compute theirs (`#[launch(cover(y))]`). Those declared `unsafe fn`, or with bounds
/// (`#[launch(max(..))]`), take one as an argument:
///
/// ```
/// use escrow::Launch;
/// assert_eq!(Launch::cover(1000), Launch::from((4, 256)));
/// assert_eq!(Launch::new((8, 4), (16, 16)).shared(1024).shared, 1024);
/// ```
///
/// Where the declaration computes it, nobody gives another:
///
/// ```compile_fail,E0061
/// # use escrow::{DeviceBuffer, DeviceContext, Error, Launch};
/// #[escrow::kernels(struct Kernels)]
/// unsafe extern "kernel" {
///     #[launch(cover(data))]
///     safe fn scale(factor: f32, data: &mut [f32]);
/// }
/// # fn user(kernels: &Kernels, ctx: &DeviceContext, dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
/// kernels.scale(ctx, Launch::new(1, 8), 2.0, dev) // `kernels.scale(ctx, 2.0, dev)`
/// # }
/// ```
///
/// A grid with a zero in it launches nothing. A block with a zero is an error, and so is what CUDA does not admit: over
/// 1024 threads in a block, over 2147483647, 65535 and 65535 blocks in x, y and z, over 8 blocks in a cluster, a cluster
/// that does not divide the grid. All that is found before the driver sees the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// Blocks of a cluster in x, y and z.
    pub cluster: [u32; 3],
    /// Whether all blocks run at the same time.
    pub cooperative: bool,
}

impl Launch {
    /// A launch of `grid` blocks of `block` threads, each of them a number, a pair or a triple.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// let tiles = Launch::new((8, 4), [16, 16, 1]);
    /// assert_eq!((tiles.grid, tiles.block, tiles.shared), ([8, 4, 1], [16, 16, 1], 0));
    /// ```
    #[inline]
    pub fn new(grid: impl Into<Dim>, block: impl Into<Dim>) -> Launch {
        Launch { grid: grid.into().0, block: block.into().0, shared: 0, cluster: [1; 3], cooperative: false }
    }

    /// At least `n` threads, in blocks of 256.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// assert_eq!(Launch::cover(257).grid, [2, 1, 1]); // 512 threads
    /// ```
    #[inline]
    pub fn cover(n: usize) -> Launch {
        // More blocks than a `u32` counts are more than a grid admits: the launch reports it.
        Launch::new(u32::try_from(n.div_ceil(COVER_BLOCK as usize)).unwrap_or(u32::MAX), COVER_BLOCK)
    }

    /// The same launch with `bytes` of dynamic shared memory for each block.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// assert_eq!(Launch::cover(256).shared(4096), Launch { shared: 4096, ..Launch::new(1, 256) });
    /// ```
    #[inline]
    pub fn shared(self, bytes: u32) -> Launch {
        Launch { shared: bytes, ..self }
    }

    /// The same launch with all its blocks on the GPU at the same time, so that they may wait for each other.
    ///
    /// A grid that the GPU cannot hold as a whole is `Error::Geometry`; `max_blocks` of the kernel set says how large it may
    /// be. The CPU device takes no notice: a body that waits for other threads is `#[cpu(single ..)]` there.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// assert!(Launch::new(16, 128).cooperative().cooperative);
    /// ```
    pub fn cooperative(self) -> Launch {
        Launch { cooperative: true, ..self }
    }

    /// The same launch in clusters of blocks, which run at the same time and reach each other's shared memory.
    ///
    /// A cluster has at most 8 blocks, and divides the grid in each dimension. A GPU before compute capability 9.0 has
    /// no clusters, which is `Error::Geometry` too. The CPU device looks at the size, and then takes no notice.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error, Launch};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(single nothing)] unsafe fn nothing(x: &[f32]); }
    /// # fn nothing(_: &[f32]) {}
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let x = ctx.enqueue_create_buffer_zeroed::<f32>(1)?;
    /// # let set = Set::load(ctx.device())?;
    /// # let run = |launch| unsafe { set.nothing(&ctx, launch, &x) };
    /// let launch = Launch::new((8, 2), 128);
    /// assert!(run(launch.cluster((4, 2))).is_ok());
    /// assert!(matches!(run(launch.cluster(3)), Err(Error::Geometry(_)))); // 8 blocks in x are no multiple
    /// # Ok::<(), Error>(())
    /// ```
    pub fn cluster(self, blocks: impl Into<Dim>) -> Launch {
        Launch { cluster: blocks.into().0, ..self }
    }

    /// Whether it asks for nothing but sizes.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        let [x, y, z] = self.cluster;
        !self.cooperative && x == 1 && y == 1 && z == 1
    }

    /// Threads of the launch; 0 for a grid with a zero in it.
    #[inline]
    pub(crate) fn threads(&self, kernel: &'static str) -> Result<usize, Error> {
        match self.plain_threads() {
            Some(threads) => Ok(threads),
            None => (*self).threads_of_any(kernel),
        }
    }

    /// The same for a launch with threads that asks for nothing but sizes and is within all limits. Where the declaration
    /// fixes sizes, little of this is left.
    #[inline(always)]
    fn plain_threads(&self) -> Option<usize> {
        let within = |sizes: [u32; 3], max: [u32; 3]| {
            (1..=max[0]).contains(&sizes[0]) && (1..=max[1]).contains(&sizes[1]) && (1..=max[2]).contains(&sizes[2])
        };
        if !self.is_plain() || !within(self.grid, MAX_GRID) || !within(self.block, MAX_BLOCK) {
            return None;
        }
        // Neither overflows within the limits: 26 bits, and 63.
        let in_block = self.block[0] * self.block[1] * self.block[2];
        let blocks = u64::from(self.grid[0]) * u64::from(self.grid[1]) * u64::from(self.grid[2]);
        if u64::from(in_block) > MAX_THREADS {
            return None;
        }
        usize::try_from(blocks.checked_mul(u64::from(in_block))?).ok()
    }

    /// Takes itself by value, as all that is out of line on a launch's way does: one whose address is passed on somewhere
    /// lies in memory everywhere.
    #[cold]
    #[inline(never)]
    fn threads_of_any(self, kernel: &'static str) -> Result<usize, Error> {
        let fault = |condition| Err(geometry(kernel, condition, &self));
        if self.block.contains(&0) {
            return fault(format!("a block of {:?} threads has no threads", self.block));
        }
        // Saturating: three dimensions can exceed 64 bits.
        let in_block = self.block.iter().fold(1u64, |all, &n| all.saturating_mul(u64::from(n)));
        if self.block.iter().zip(MAX_BLOCK).any(|(&n, max)| n > max) || in_block > MAX_THREADS {
            return fault(format!(
                "a block of {:?} threads is more than devices admit: {MAX_THREADS} in all, {MAX_BLOCK:?} in x, y and z",
                self.block
            ));
        }
        if self.grid.iter().zip(MAX_GRID).any(|(&n, max)| n > max) {
            return fault(format!("a grid of {:?} blocks is more than devices admit: {MAX_GRID:?}", self.grid));
        }
        if !self.is_plain() {
            self.check_cluster(kernel)?;
        }
        if self.grid.contains(&0) {
            return Ok(0);
        }
        let threads = self.grid.iter().try_fold(in_block, |all, &n| all.checked_mul(u64::from(n)));
        match threads.map(usize::try_from) {
            Some(Ok(threads)) => Ok(threads),
            _ => fault(format!("{:?} blocks of {:?} threads are too many to count", self.grid, self.block)),
        }
    }

    #[cold]
    fn check_cluster(&self, kernel: &'static str) -> Result<(), Error> {
        let blocks = self.cluster.iter().fold(1u64, |all, &n| all.saturating_mul(u64::from(n)));
        let condition = if blocks == 0 {
            format!("a cluster of {:?} blocks has no blocks", self.cluster)
        } else if blocks > MAX_CLUSTER {
            format!("a cluster of {:?} blocks is more than devices admit: {MAX_CLUSTER} in all", self.cluster)
        } else if self.grid.iter().zip(self.cluster).any(|(&n, cluster)| !n.is_multiple_of(cluster)) {
            format!("clusters of {:?} blocks do not divide a grid of {:?}", self.cluster, self.grid)
        } else {
            return Ok(());
        };
        Err(geometry(kernel, condition, self))
    }
}

/// Grid and block, in one dimension each.
impl From<(u32, u32)> for Launch {
    fn from((grid, block): (u32, u32)) -> Launch {
        Launch::new(grid, block)
    }
}

#[cold]
pub(crate) fn geometry(kernel: &'static str, condition: String, launch: &Launch) -> Error {
    Error::Geometry(Box::new(Requirement { kernel, condition, found: format!("{launch:?}") }))
}

/// A launch that was checked.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub(crate) launch: Launch,
    /// Thread indices that a Rust body runs over.
    pub(crate) threads: usize,
}

impl Geometry {
    #[inline]
    pub(crate) fn new(kernel: &'static str, launch: Launch) -> Result<Geometry, Error> {
        Ok(Geometry { launch, threads: launch.threads(kernel)? })
    }

    /// As many threads as a span has elements. Those that fill up the last block have nothing to do, so a Rust body does
    /// not run for them.
    #[inline]
    pub(crate) fn cover(kernel: &'static str, n: usize) -> Result<Geometry, Error> {
        let geometry = Geometry::new(kernel, Launch::cover(n))?;
        debug_assert!(geometry.threads >= n);
        Ok(Geometry { threads: n, ..geometry })
    }

    /// Whether the declaration admits the launch: no dimension is over its bound.
    #[inline]
    pub(crate) fn bounded(kernel: &'static str, launch: Launch, max: &Launch) -> Result<Geometry, Error> {
        if exceeds(launch.grid, max.grid) || exceeds(launch.block, max.block) || launch.shared > max.shared {
            return Err(out_of_bounds(kernel, launch, *max));
        }
        Geometry::new(kernel, launch)
    }
}

#[inline]
fn exceeds(a: [u32; 3], b: [u32; 3]) -> bool {
    a[0] > b[0] || a[1] > b[1] || a[2] > b[2]
}

/// The first bound that the launch exceeds.
#[cold]
#[inline(never)]
fn out_of_bounds(kernel: &'static str, launch: Launch, max: Launch) -> Error {
    let condition = if exceeds(launch.grid, max.grid) {
        format!("a grid of {:?} blocks is more than its declaration admits: {:?}", launch.grid, max.grid)
    } else if exceeds(launch.block, max.block) {
        format!("a block of {:?} threads is more than its declaration admits: {:?}", launch.block, max.block)
    } else {
        format!("{} bytes of shared memory are more than its declaration admits: {}", launch.shared, max.shared)
    };
    geometry(kernel, condition, &launch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(launch: Launch) -> Option<usize> {
        launch.threads("test").ok()
    }

    #[test]
    fn counts_and_limits() {
        assert_eq!(threads(Launch::new((3, 2), (4, 4))), Some(96));
        assert_eq!(threads(Launch::new((0, 2), 4)), Some(0));
        assert_eq!(threads(Launch::new(1, (4, 0))), None);
        assert_eq!(threads(Launch::new(0, 0)), None, "a block with a zero is an error, whatever the grid");
        assert_eq!(threads(Launch::new(1, 1024)), Some(1024));
        assert_eq!(threads(Launch::new(1, (1024, 2))), None);
        assert_eq!(threads(Launch::new(1, (1, 1, 65))), None);
        assert_eq!(threads(Launch::new(i32::MAX as u32, 1)), Some(i32::MAX as usize));
        assert_eq!(threads(Launch::new(1 << 31, 1)), None);
        assert_eq!(threads(Launch::new((1, 65_536), 1)), None);
        assert_eq!(threads(Launch::new((i32::MAX as u32, 65_535, 65_535), 1024)), None, "2^73 threads");
        assert_eq!(threads(Launch::cover(usize::MAX)), None);
        assert_eq!(threads(Launch::new((8, 4), 2).cluster((4, 2))), Some(64));
        assert_eq!(threads(Launch::new(0, 2).cluster(8)), Some(0));
        assert_eq!(threads(Launch::new(16, 2).cluster(16)), None);
        assert_eq!(threads(Launch::new(16, 2).cluster((2, 2))), None, "1 in y is no multiple of 2");
        assert_eq!(threads(Launch::new(16, 2).cluster((u32::MAX, u32::MAX, u32::MAX))), None);
        assert_eq!(threads(Launch::new(0, 2).cluster(0)), None);
        assert_eq!(threads(Launch::new(16, 2).cooperative()), Some(32));
        assert_eq!(Geometry::cover("test", 257).unwrap().threads, 257);
        assert_eq!(Geometry::cover("test", 257).unwrap().launch.grid, [2, 1, 1]);
        assert_eq!(Geometry::cover("test", 0).unwrap().threads, 0);
    }

    #[test]
    fn bounds_hold_in_each_dimension() {
        let max = Launch::new(4, 32).shared(8);
        let ok = |launch| Geometry::bounded("test", launch, &max).is_ok();
        assert!(ok(Launch::new(4, 32).shared(8)));
        assert!(!ok(Launch::new(5, 32)));
        assert!(!ok(Launch::new((2, 2), 32)));
        assert!(!ok(Launch::new(4, (16, 2))));
        assert!(!ok(Launch::new(4, 32).shared(9)));
    }
}
