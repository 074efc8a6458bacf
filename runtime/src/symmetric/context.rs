//! The job, as one PE sees it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::ptr::NonNull;
use std::sync::Arc;

use super::buffer::ShmemBuffer;
use super::card::{Card, Kind, digest_of};
use super::engine::{Engine, Entry, Together};
use super::pe::{Bound, Kept, Pe};
use super::team::{Team, World};
use super::transport::Alloc;
use crate::context::DeviceContext;
use crate::dtype::DType;
use crate::error::{Error, Memory, Operation};
use crate::region::byte_len;
use crate::stream::Stream;
use crate::tag::{Dyn, StreamTag};

/// A SHMEM job, as one of its PEs sees it: who is there, symmetric memory, remote operations and the barrier. Only
/// [`shmem::launch`](crate::shmem::launch) and [`shmem::launch_on`](crate::shmem::launch_on) make one.
///
/// The job has one stream, that of [`context`](ShmemContext::context): everything remote and collective is enqueued there,
/// in the order of the calls, and does not block unless its page says so. It stays on the thread of its PE.
///
/// ```
/// use escrow::{Error, shmem};
/// // Each PE puts its number into its neighbour's inbox.
/// let got = shmem::launch(4, |job| {
///     let mut mine = job.create_buffer_zeroed::<f32>(1)?;
///     mine.enqueue_fill(job.my_pe() as f32)?;
///     let inbox = job.barrier_all(job.create_buffer_zeroed::<f32>(1)?)?; // exposed: others may write it
///     job.put(&mine, &inbox, job.next())?;
///     let inbox = job.barrier_all(inbox)?;                               // local again: what came can be read
///     Ok(inbox.to_vec()?[0])
/// })?;
/// assert_eq!(got, [3.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// It does not go to another thread:
///
/// ```compile_fail,E0277
/// # use escrow::{Error, shmem};
/// shmem::launch(2, |job| {
///     std::thread::scope(|s| { s.spawn(|| job.my_pe()); }); // send values, not the job
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub struct ShmemContext<S: StreamTag = Dyn> {
    bound: Bound,
    ctx: DeviceContext<S>,
    engine: Kept<Engine>,
    world: Box<[u32]>,
    /// Members of the teams there were: what is enqueued refers to them until the job's end.
    members: Kept<RefCell<Vec<Box<[u32]>>>>,
    /// Collective calls of all PEs so far.
    calls: Kept<Cell<u64>>,
}

impl<S: StreamTag> ShmemContext<S> {
    pub(super) fn new(ctx: DeviceContext<S>, engine: Engine) -> Self {
        let world = (0..engine.n_pes() as u32).collect();
        let members = Kept(RefCell::new(Vec::new()));
        ShmemContext { bound: Bound::default(), ctx, engine: Kept(engine), world, members, calls: Kept(Cell::new(0)) }
    }

    /// What carries out the operations, and the stream in whose order it does.
    #[inline]
    pub(super) fn engine_and_stream(&self) -> (&Engine, &Arc<Stream>) {
        (&*self.engine, self.ctx.stream())
    }

    pub(super) fn into_engine(self) -> Engine {
        self.engine.0
    }

    /// A call of all PEs.
    fn together(&self, card: Card) -> Together {
        Together { team: 0, members: NonNull::from(&*self.world), card }
    }

    /// Members of a new team, kept until the job ends, and the team's number.
    pub(super) fn keep_members(&self, members: Vec<u32>) -> (NonNull<[u32]>, u32) {
        let mut all = self.members.borrow_mut();
        let members = members.into_boxed_slice();
        let kept = NonNull::from(&*members);
        all.push(members);
        (kept, all.len() as u32)
    }

    /// The card of the next collective call of all PEs.
    pub(super) fn card(&self, kind: Kind, words: [u64; 3], digest: u64) -> Card {
        self.calls.set(self.calls.get() + 1);
        Card::new(kind, self.calls.get(), words, digest)
    }

    /// Enqueues an agreement of all PEs.
    pub(super) fn agree(&self, op: Operation, card: Card) -> Result<(), Error> {
        // SAFETY: the world lives as long as the job.
        unsafe { self.engine.agree(self.ctx.stream(), op, self.together(card)) }
    }

    /// An agreement of all PEs on what nothing is allocated for. **Blocks.**
    fn agree_now(&self, card: Card) -> Result<(), Error> {
        self.engine.meet(self.ctx.stream(), Operation::Symmetric, self.together(card))
    }

    /// The last call of the job: all PEs are here, and all have failed or none. **Blocks.**
    pub(super) fn end(&self, failed: bool) -> Result<(), Error> {
        let card = if failed { Card::failed_end() } else { Card::new(Kind::End, 0, [0; 3], 0) };
        self.engine.meet(self.ctx.stream(), Operation::Barrier, self.together(card))
    }

    /// This PE's device context: its stream is the job's. Kernels, host buffers and plain device buffers come from here.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let ctx = job.context();
    ///     let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?; // this PE's own, not symmetric
    ///     assert_eq!(dev.to_vec()?, [0.0; 4]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn context(&self) -> &DeviceContext<S> {
        &self.ctx
    }

    /// The engine that the job runs on: `local`, `openshmem` or `nvshmem`.
    ///
    /// ```
    /// # use escrow::{Device, Dyn, Error, shmem};
    /// let engines = shmem::launch(1, |job| Ok(job.engine()))?;
    /// assert!(["local", "openshmem", "nvshmem"].contains(&engines[0]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// This PE's number, counted from 0.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// assert_eq!(shmem::launch(3, |job| Ok(job.my_pe()))?, [0, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn my_pe(&self) -> usize {
        self.engine.me()
    }

    /// How many PEs there are.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// assert_eq!(shmem::launch(2, |job| Ok(job.n_pes()))?, [2, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn n_pes(&self) -> usize {
        self.world.len()
    }

    /// This PE.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.me(), job.pe(job.my_pe())?)))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn me(&self) -> Pe<'_> {
        world_pe(self.my_pe())
    }

    /// The PE with this number.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     assert_eq!(job.pe(1)?.rank(), 1);
    ///     assert!(matches!(job.pe(2), Err(Error::NoPe { pe: 2, n_pes: 2 })));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoPe`].
    pub fn pe(&self, rank: usize) -> Result<Pe<'_>, Error> {
        if rank < self.n_pes() { Ok(world_pe(rank)) } else { Err(Error::NoPe { pe: rank, n_pes: self.n_pes() }) }
    }

    /// The PE behind this one; behind the last one comes the first.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// assert_eq!(shmem::launch(3, |job| Ok(job.next().rank()))?, [1, 2, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn next(&self) -> Pe<'_> {
        world_pe((self.my_pe() + 1) % self.n_pes())
    }

    /// The PE in front of this one; in front of the first one comes the last.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// assert_eq!(shmem::launch(3, |job| Ok(job.previous().rank()))?, [2, 0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn previous(&self) -> Pe<'_> {
        world_pe((self.my_pe() + self.n_pes() - 1) % self.n_pes())
    }

    /// All PEs, this one included, from 0 on.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(3, |job| Ok(assert!(job.iter().map(|pe| pe.rank()).eq(0..3))))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Pe<'_>> {
        (0..self.n_pes()).map(world_pe)
    }

    /// All PEs as a team, for collectives.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.world().n_pes(), 2)))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn world(&self) -> Team<'_, World, S> {
        Team::world(self, NonNull::from(&*self.world))
    }

    pub(super) fn count_call(&self) -> &Cell<u64> {
        &self.calls
    }

    /// Symmetric memory of `len` elements on each PE, aligned to 64 bytes, that nothing has written yet. All PEs call it,
    /// with the same length and type, in the same order as their other collective calls. Frees what all PEs have dropped
    /// before. **Blocks** until all PEs are here.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let raw = job.create_buffer::<u32>(8)?; // ShmemBuffer<MaybeUninit<u32>>
    ///     let sevens = raw.enqueue_fill(7)?;      // ShmemBuffer<u32>
    ///     Ok(assert_eq!(sevens.to_vec()?, [7; 8]))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// On all PEs alike: [`Error::OutOfMemory`], [`Error::TooLarge`]; [`Error::Diverged`] if lengths or types differ, and
    /// then the job is over.
    pub fn create_buffer<T: DType>(&self, len: usize) -> Result<ShmemBuffer<'_, MaybeUninit<T>, S>, Error> {
        const { T::VALID };
        let bytes = byte_len::<T>(len);
        let digest = digest_of(std::any::type_name::<T>());
        let card = self.card(Kind::Create, [len as u64, size_of::<T>() as u64, 0], digest);
        let entry = match bytes {
            Ok(0) => self.agree_now(card).map(|()| None)?,
            Ok(bytes) => Some(self.allocate(card, bytes)?),
            // The others see the same, or that the calls differ.
            Err(error) => return Err(self.agree_now(card).err().unwrap_or(error)),
        };
        Ok(ShmemBuffer::new(self, entry, len))
    }

    /// As [`create_buffer`](ShmemContext::create_buffer), filled with zeros on this stream.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.create_buffer_zeroed::<u8>(3)?.to_vec()?, [0; 3])))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_buffer`](ShmemContext::create_buffer).
    pub fn create_buffer_zeroed<T: DType>(&self, len: usize) -> Result<ShmemBuffer<'_, T, S>, Error> {
        // SAFETY: every bit pattern of a `DType` is valid, all zeros too.
        let zero = unsafe { mem::zeroed::<T>() };
        Ok(self.create_buffer(len)?.enqueue_fill(zero)?)
    }

    pub(super) fn allocate(&self, card: Card, bytes: usize) -> Result<NonNull<Alloc>, Error> {
        let made = self.engine.allocate(self.ctx.stream(), self.together(card), bytes)?;
        made.ok_or_else(|| self.no_memory(bytes))
    }

    /// Why an allocation failed on all PEs.
    fn no_memory(&self, bytes: usize) -> Error {
        const OP: Operation = Operation::Symmetric;
        if self.engine.is_full() {
            return Error::Refused {
                op: OP,
                why: "4096 allocations are the most that can live at a time; put more in one",
            };
        }
        Error::OutOfMemory { place: Memory::Symmetric, asked: bytes, held: self.engine.held() }
    }

    /// Frees the symmetric memory that all PEs have dropped. All PEs call it. Creating symmetric memory does the same, so
    /// this is for programs that drop much and create nothing. **Blocks** until all PEs are here.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let large = job.create_buffer::<u8>(1 << 20)?;
    ///     drop(large);   // waits for nobody, frees nothing
    ///     job.reclaim()  // frees it on both PEs
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Diverged`], [`Error::PeFailed`].
    pub fn reclaim(&self) -> Result<(), Error> {
        let card = self.card(Kind::Reclaim, [0; 3], 0);
        self.engine.reclaim(self.ctx.stream(), self.together(card))
    }

    /// A value of the job no longer uses its memory. Waits for nobody.
    pub(super) fn note_drop(&self, entry: Entry) {
        if let Some(alloc) = entry {
            // SAFETY: an allocation lives until all PEs have noted their drops, this one too.
            self.engine.note_drop(unsafe { alloc.as_ref() }.slot);
        }
    }

    /// Enqueues a wait until all earlier puts of this PE have arrived. Does not block, and says nothing to the others: that
    /// is what [`barrier_all`](ShmemContext::barrier_all) and signals do.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(1)?)?;
    ///     job.p(5, &open, 0, job.next())?;
    ///     job.quiet()
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`].
    pub fn quiet(&self) -> Result<(), Error> {
        self.engine.order(self.ctx.stream(), true)
    }

    /// Enqueues that later puts to a PE arrive behind the earlier ones to that PE. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(2)?)?;
    ///     job.p(5, &open, 0, job.next())?;
    ///     job.fence()?;
    ///     job.p(6, &open, 1, job.next()) // not seen before the 5
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`].
    pub fn fence(&self) -> Result<(), Error> {
        self.engine.order(self.ctx.stream(), false)
    }
}

/// The PE of all that has this number.
fn world_pe<'job>(rank: usize) -> Pe<'job> {
    Pe::new(rank, rank, 0)
}

impl<S: StreamTag> fmt::Debug for ShmemContext<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShmemContext(PE {} of {}, engine: {}, tag: {})", self.my_pe(), self.n_pes(), self.engine(), S::NAME)
    }
}
