//! PEs, as values that are valid by construction.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::team::{TeamTag, World};

/// Values of a job stay on the thread of their PE. Nothing implements this: it is what the compiler names when one of them
/// would go to another thread.
#[doc(hidden)]
pub trait StaysOnTheThreadOfItsPe {}

/// The marker of types that are bound to the thread of their PE.
pub(crate) type Bound = PhantomData<dyn StaysOnTheThreadOfItsPe>;

/// A part of a type that has the marker too: so that the compiler names the marker, and not what is in here.
#[derive(Clone, Copy)]
pub(crate) struct Kept<T>(pub(crate) T);

// SAFETY: it lies beside a `Bound`, in private fields, so what it is a part of goes to no other thread.
unsafe impl<T> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Kept<T> {}

impl<T> Deref for Kept<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A PE that exists, of the team with the tag `G`. Made by [`ShmemContext`](crate::ShmemContext) and
/// [`Team`](crate::Team), which know how many there are.
///
/// ```
/// # use escrow::{Error, shmem};
/// let ranks = shmem::launch(3, |job| Ok((job.me().rank(), job.next().rank(), job.previous().rank())))?;
/// assert_eq!(ranks, [(0, 1, 2), (1, 2, 0), (2, 0, 1)]);
/// # Ok::<(), Error>(())
/// ```
///
/// A number is no PE:
///
/// ```compile_fail,E0308
/// # use escrow::{DeviceBuffer, Error, Exposed, ShmemBuffer, ShmemContext};
/// fn send(job: &ShmemContext, src: &DeviceBuffer<f32>, to: &Exposed<ShmemBuffer<'_, f32>>) -> Result<(), Error> {
///     job.put(src, to, 1) // `job.pe(1)?`
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Pe<'job, G: TeamTag = World> {
    pub(crate) rank: u32,
    pub(crate) world: u32,
    pub(crate) team: u32,
    pub(crate) bound: Bound,
    pub(crate) tag: PhantomData<(&'job (), G)>,
}

impl<G: TeamTag> PartialEq for Pe<'_, G> {
    fn eq(&self, other: &Self) -> bool {
        (self.team, self.rank) == (other.team, other.rank)
    }
}

impl<G: TeamTag> Eq for Pe<'_, G> {}

impl<G: TeamTag> Pe<'_, G> {
    pub(crate) fn new(rank: usize, world: usize, team: u32) -> Self {
        Pe { rank: rank as u32, world: world as u32, team, bound: Bound::default(), tag: PhantomData }
    }

    /// Its number in its team, counted from 0.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// assert_eq!(shmem::launch(2, |job| Ok(job.pe(1)?.rank()))?, [1, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rank(self) -> usize {
        self.rank as usize
    }
}

impl<G: TeamTag> fmt::Debug for Pe<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pe({} of {})", self.rank, G::NAME)
    }
}
