//! Launch geometry.

use crate::error::{Error, Requirement};

/// Threads of a block in a launch that covers a span.
const COVER_BLOCK: u32 = 256;

/// What every device admits in a grid: CUDA's limits, also on the CPU device, so that a program that runs there runs on
/// a GPU too.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_THREADS: u64 = 1024;

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
/// A grid with a zero in it launches nothing. A block with a zero is an error, and so is what CUDA does not admit: over
/// 1024 threads in a block, over 2147483647, 65535 and 65535 blocks in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
}

impl Launch {
    /// A launch of `grid` blocks of `block` threads, each of them a number, a pair or a triple.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// let tiles = Launch::new((8, 4), [16, 16, 1]);
    /// assert_eq!((tiles.grid, tiles.block, tiles.shared), ([8, 4, 1], [16, 16, 1], 0));
    /// ```
    pub fn new(grid: impl Into<Dim>, block: impl Into<Dim>) -> Launch {
        Launch { grid: grid.into().0, block: block.into().0, shared: 0 }
    }

    /// At least `n` threads, in blocks of 256.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// assert_eq!(Launch::cover(257).grid, [2, 1, 1]); // 512 threads
    /// ```
    pub fn cover(n: usize) -> Launch {
        // More blocks than a `u32` counts are more than a grid admits: the launch reports it.
        Launch::new(u32::try_from(n.div_ceil(COVER_BLOCK as usize)).unwrap_or(u32::MAX), COVER_BLOCK)
    }

    /// The same launch with `bytes` of dynamic shared memory for each block.
    ///
    /// ```
    /// # use escrow::{Launch};
    /// assert_eq!(Launch::cover(256).shared(4096), Launch { grid: [1; 3], block: [256, 1, 1], shared: 4096 });
    /// ```
    pub fn shared(self, bytes: u32) -> Launch {
        Launch { shared: bytes, ..self }
    }

    /// Threads of the launch; 0 for a grid with a zero in it.
    pub(crate) fn threads(&self, kernel: &'static str) -> Result<usize, Error> {
        let fault = |condition| Err(geometry(kernel, condition, self));
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
        if self.grid.contains(&0) {
            return Ok(0);
        }
        let threads = self.grid.iter().try_fold(in_block, |all, &n| all.checked_mul(u64::from(n)));
        match threads.map(usize::try_from) {
            Some(Ok(threads)) => Ok(threads),
            _ => fault(format!("{:?} blocks of {:?} threads are too many to count", self.grid, self.block)),
        }
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
    pub(crate) fn new(kernel: &'static str, launch: Launch) -> Result<Geometry, Error> {
        Ok(Geometry { launch, threads: launch.threads(kernel)? })
    }

    /// As many threads as a span has elements. Those that fill up the last block have nothing to do, so a Rust body does
    /// not run for them.
    pub(crate) fn cover(kernel: &'static str, n: usize) -> Result<Geometry, Error> {
        let geometry = Geometry::new(kernel, Launch::cover(n))?;
        debug_assert!(geometry.threads >= n);
        Ok(Geometry { threads: n, ..geometry })
    }

    /// Whether the declaration admits the launch: no dimension is over its bound.
    pub(crate) fn bounded(kernel: &'static str, launch: Launch, max: &Launch) -> Result<Geometry, Error> {
        let exceeds = |a: [u32; 3], b: [u32; 3]| a.iter().zip(b).any(|(&a, b)| a > b);
        if exceeds(launch.grid, max.grid) {
            let condition =
                format!("a grid of {:?} blocks is more than its declaration admits: {:?}", launch.grid, max.grid);
            return Err(geometry(kernel, condition, &launch));
        }
        if exceeds(launch.block, max.block) {
            let condition =
                format!("a block of {:?} threads is more than its declaration admits: {:?}", launch.block, max.block);
            return Err(geometry(kernel, condition, &launch));
        }
        if launch.shared > max.shared {
            let condition = format!(
                "{} bytes of shared memory are more than its declaration admits: {}",
                launch.shared, max.shared
            );
            return Err(geometry(kernel, condition, &launch));
        }
        Geometry::new(kernel, launch)
    }
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
