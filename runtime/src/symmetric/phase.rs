//! Phases: the barrier of the job, and what it flips.

use super::buffer::ShmemBuffer;
use super::card::{Kind, mix};
use super::context::ShmemContext;
use super::engine::{self, Entry};
use super::exposed::Exposed;
use crate::dtype::Init;
use crate::error::{Error, Operation};
use crate::tag::{Dyn, StreamTag};

/// What a barrier flips, as all PEs must agree on it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Flips {
    count: u64,
    digest: u64,
    foreign: bool,
}

impl Flips {
    fn add<S: StreamTag>(
        &mut self,
        job: &ShmemContext<S>,
        of: &ShmemContext<S>,
        entry: Entry,
        len: usize,
        opens: bool,
    ) {
        self.count += 1;
        self.digest = mix(mix(mix(self.digest, engine::slot(entry)), len as u64), u64::from(opens));
        self.foreign |= !std::ptr::eq(job, of);
    }
}

mod flip {
    #[diagnostic::on_unimplemented(
        message = "`Flip` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed<S> {}
}

/// Values that the job's barrier takes from one phase to the other: local and exposed buffers, and tuples, arrays and `Vec`s
/// of them; `()` for a barrier alone.
///
/// ```
/// # use escrow::{Error, Exposed, Flip, ShmemBuffer, ShmemContext, shmem};
/// fn step<V: Flip>(job: &ShmemContext, values: V) -> Result<V::Flipped, Error> {
///     job.barrier_all(values)
/// }
/// shmem::launch(2, |job| {
///     let (a, b) = (job.create_buffer_zeroed::<f32>(4)?, job.create_buffer_zeroed::<u8>(4)?);
///     let (a, b): (Exposed<_>, Exposed<_>) = step(job, (a, b))?; // one barrier for both
///     let (a, b): (ShmemBuffer<'_, f32>, ShmemBuffer<'_, u8>) = step(job, (a, b))?;
///     Ok(assert_eq!((a.len(), b.len()), (4, 4)))
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// What nothing has written is not exposed, nor is plain device memory:
///
/// ```compile_fail,E0277
/// # use escrow::{Error, ShmemContext};
/// fn open(job: &ShmemContext) -> Result<(), Error> {
///     let raw = job.create_buffer::<f32>(4)?;
///     let open = job.barrier_all(raw)?; // `enqueue_fill` it first
///     Ok(())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no phase that a barrier could flip",
    label = "not a `ShmemBuffer` or `Exposed<ShmemBuffer>` of this job",
    note = "pass symmetric buffers by value, also in tuples, arrays and `Vec`s; `()` for a barrier alone",
    note = "a `ShmemBuffer<MaybeUninit<_>>` is memory that nothing has written yet: `enqueue_fill` it, or copy into it, first"
)]
pub trait Flip<S: StreamTag = Dyn>: flip::Sealed<S> + Sized {
    /// The same values in the other phase.
    type Flipped;

    #[doc(hidden)]
    fn show(&self, job: &ShmemContext<S>, flips: &mut Flips);
    /// # Safety
    /// The barrier that flips them on all PEs was enqueued.
    #[doc(hidden)]
    unsafe fn flip(self) -> Self::Flipped;
}

impl<T: Init, S: StreamTag> flip::Sealed<S> for ShmemBuffer<'_, T, S> {}
#[diagnostic::do_not_recommend]
impl<T: Init, S: StreamTag> Flip<S> for ShmemBuffer<'_, T, S> {
    type Flipped = Exposed<Self>;
    fn show(&self, job: &ShmemContext<S>, flips: &mut Flips) {
        flips.add(job, self.job(), self.entry(), self.len(), true);
    }
    unsafe fn flip(self) -> Exposed<Self> {
        Exposed(self)
    }
}

impl<T: Init, S: StreamTag> flip::Sealed<S> for Exposed<ShmemBuffer<'_, T, S>> {}
#[diagnostic::do_not_recommend]
impl<'job, T: Init, S: StreamTag> Flip<S> for Exposed<ShmemBuffer<'job, T, S>> {
    type Flipped = ShmemBuffer<'job, T, S>;
    fn show(&self, job: &ShmemContext<S>, flips: &mut Flips) {
        flips.add(job, self.0.job(), self.0.entry(), self.len(), false);
    }
    unsafe fn flip(self) -> ShmemBuffer<'job, T, S> {
        self.0
    }
}

impl<S: StreamTag> flip::Sealed<S> for () {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag> Flip<S> for () {
    type Flipped = ();
    fn show(&self, _: &ShmemContext<S>, _: &mut Flips) {}
    unsafe fn flip(self) {}
}

impl<S: StreamTag, V: Flip<S>> flip::Sealed<S> for Vec<V> {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Flip<S>> Flip<S> for Vec<V> {
    type Flipped = Vec<V::Flipped>;
    fn show(&self, job: &ShmemContext<S>, flips: &mut Flips) {
        for value in self {
            value.show(job, flips);
        }
    }
    unsafe fn flip(self) -> Vec<V::Flipped> {
        // SAFETY: passed on to the caller.
        self.into_iter().map(|value| unsafe { value.flip() }).collect()
    }
}

impl<S: StreamTag, V: Flip<S>, const N: usize> flip::Sealed<S> for [V; N] {}
#[diagnostic::do_not_recommend]
impl<S: StreamTag, V: Flip<S>, const N: usize> Flip<S> for [V; N] {
    type Flipped = [V::Flipped; N];
    fn show(&self, job: &ShmemContext<S>, flips: &mut Flips) {
        for value in self {
            value.show(job, flips);
        }
    }
    unsafe fn flip(self) -> [V::Flipped; N] {
        // SAFETY: passed on to the caller.
        self.map(|value| unsafe { value.flip() })
    }
}

macro_rules! tuples {
    ($(($($v:ident $i:tt),+))+) => { $(
        impl<S: StreamTag, $($v: Flip<S>),+> flip::Sealed<S> for ($($v,)+) {}
        #[diagnostic::do_not_recommend]
        impl<S: StreamTag, $($v: Flip<S>),+> Flip<S> for ($($v,)+) {
            type Flipped = ($($v::Flipped,)+);
            fn show(&self, job: &ShmemContext<S>, flips: &mut Flips) {
                $( self.$i.show(job, flips); )+
            }
            unsafe fn flip(self) -> Self::Flipped {
                // SAFETY: passed on to the caller.
                ($( unsafe { self.$i.flip() }, )+)
            }
        }
    )+ };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

impl<S: StreamTag> ShmemContext<S> {
    /// The barrier of the job: behind it, all that any PE put before it has arrived, and `values` are in their other phase
    /// on all PEs: what was local is exposed, what was exposed is local. All PEs call it with the same values in the same
    /// order; that is compared. Enqueued on the job's stream: does not block.
    ///
    /// With two buffers one barrier a step is enough:
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let sums = shmem::launch(2, |job| {
    ///     let mut halo = job.create_buffer_zeroed::<u32>(1)?;
    ///     let mut open = job.barrier_all(job.create_buffer_zeroed::<u32>(1)?)?;
    ///     let mut seen = Vec::new();
    ///     for step in 0..4 {
    ///         job.p(10 * step + job.my_pe() as u32, &open, 0, job.next())?; // into the neighbour's exposed buffer
    ///         (open, halo) = job.barrier_all((halo, open))?;               // one barrier flips both
    ///         seen.push(halo.to_vec()?[0]);
    ///     }
    ///     Ok(seen)
    /// })?;
    /// assert_eq!(sums, [[1, 11, 21, 31], [0, 10, 20, 30]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`] if the job is over. That the PEs' values differ ([`Error::Diverged`]), or that a PE fails before
    /// it comes, shows at the next wait; nothing behind the barrier runs then. After any error the job is over for this PE,
    /// and the values stay with it.
    pub fn barrier_all<V: Flip<S>>(&self, values: V) -> Result<V::Flipped, Error> {
        let mut flips = Flips { count: 0, digest: 0, foreign: false };
        values.show(self, &mut flips);
        self.flip(flips)?;
        // SAFETY: the barrier was enqueued.
        Ok(unsafe { values.flip() })
    }

    /// The barrier of the job, which exposes `local` and takes `exposed` back, each in the other's place: for buffers in
    /// struct fields. As [`barrier_all`](ShmemContext::barrier_all) otherwise.
    ///
    /// ```
    /// # use escrow::{DeviceSpan, Error, Exposed, ShmemBuffer, ShmemContext, shmem};
    /// struct Halo<'job> {
    ///     local: ShmemBuffer<'job, u32>,
    ///     open: Exposed<ShmemBuffer<'job, u32>>,
    /// }
    /// fn step(job: &ShmemContext, halo: &mut Halo<'_>, row: DeviceSpan<'_, u32>) -> Result<(), Error> {
    ///     job.put(&row, &halo.open, job.next())?;
    ///     Ok(())
    /// }
    /// let got = shmem::launch(2, |job| {
    ///     let local = job.create_buffer_zeroed(1)?;
    ///     let mut halo = Halo { local, open: job.barrier_all(job.create_buffer_zeroed(1)?)? };
    ///     let row = job.context().enqueue_create_buffer::<u32>(1)?.enqueue_fill(5 + job.my_pe() as u32)?;
    ///     step(job, &mut halo, row.as_span())?;
    ///     job.barrier_swap(&mut halo.local, &mut halo.open)?;
    ///     halo.local.to_vec()
    /// })?;
    /// assert_eq!(got, [[6], [5]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`barrier_all`](ShmemContext::barrier_all). The fields then hold buffers of no elements, of a job that is
    /// over.
    pub fn barrier_swap<'job, T: Init>(
        &'job self,
        local: &mut ShmemBuffer<'job, T, S>,
        exposed: &mut Exposed<ShmemBuffer<'job, T, S>>,
    ) -> Result<(), Error> {
        let mut flips = Flips { count: 0, digest: 0, foreign: false };
        local.show(self, &mut flips);
        exposed.show(self, &mut flips);
        match self.flip(flips) {
            Ok(()) => {
                std::mem::swap(local, &mut exposed.0);
                Ok(())
            }
            Err(error) => {
                *local = ShmemBuffer::stand_in(self);
                exposed.0 = ShmemBuffer::stand_in(self);
                Err(error)
            }
        }
    }

    fn flip(&self, flips: Flips) -> Result<(), Error> {
        let card = self.card(Kind::Barrier, [flips.count, 0, 0], flips.digest);
        let done = if flips.foreign {
            Err(Error::WrongStream { op: Operation::Barrier })
        } else {
            self.agree(Operation::Barrier, card)
        };
        // A PE that cannot come ends the job: the others would wait for it. And nothing that comes behind runs here.
        done.inspect_err(|error| {
            self.give_up(error);
            let (engine, stream) = self.engine_and_stream();
            engine.stop(stream, Operation::Barrier);
        })
    }

    /// Ends the job because of an error of this PE's own.
    pub(super) fn give_up(&self, error: &Error) {
        self.engine_and_stream().0.fail(error);
    }
}
