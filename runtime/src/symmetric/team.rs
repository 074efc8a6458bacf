//! Teams of PEs, and their collectives.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::buffer::ShmemBuffer;
use super::card::{Card, Kind, digest_of, mix};
use super::context::ShmemContext;
use super::engine::{self, Collective, Reduce, Split, Together, slot};
use super::pe::{Bound, Kept, Pe};
use super::reduction::{Reduction, combine};
use super::transport::Target;
use crate::dtype::DType;
use crate::error::{Error, Operation};
use crate::tag::{Dyn, StreamTag};

const OP: Operation = Operation::Collective;

/// The name of a team, as a type and a value. As a stream tag it is a label: a PE of one team is not one of another, which
/// is a compile error; several teams may bear one tag, and mixing those is [`Error::WrongTeam`].
///
/// ```
/// # use escrow::{Error, shmem};
/// escrow::teams! { Even }
/// let sizes = shmem::launch(3, |job| {
///     let even = job.world().split_strided(Even, 0, 2, 2)?; // PEs 0 and 2
///     Ok(even.map(|team| team.n_pes()))
/// })?;
/// assert_eq!(sizes, [Some(2), None, Some(2)]);
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::shmem;
/// # shmem::launch(1, |job| {
/// let even = job.world().split_strided("even", 0, 2, 2)?; // declare it: `escrow::teams! { Even }`
/// # Ok(()) });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a team tag",
    label = "not a team tag",
    note = "declare tags with `escrow::teams! {{ Rows, Columns }}`"
)]
pub trait TeamTag: Copy + 'static {
    /// The tag's name in messages.
    const NAME: &'static str;
}

/// The tag of the team of all PEs.
///
/// ```
/// # use escrow::{Error, Pe, shmem::{self, World}};
/// shmem::launch(2, |job| {
///     let other: Pe<'_, World> = job.next();
///     Ok(assert_ne!(other, job.me()))
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World;

#[diagnostic::do_not_recommend]
impl TeamTag for World {
    const NAME: &'static str = "World";
}

/// The tag of the team of the PEs on one host.
///
/// ```
/// # use escrow::{Error, Pe, Team, shmem::{self, Node}};
/// shmem::launch(2, |job| {
///     let near: Team<'_, Node> = job.node()?;
///     Ok(assert!(near.n_pes() <= job.n_pes()))
/// })?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node;

#[diagnostic::do_not_recommend]
impl TeamTag for Node {
    const NAME: &'static str = "Node";
}

/// Declares team tags: one unit struct for each name.
///
/// ```
/// escrow::teams! {
///     /// PEs of one row.
///     pub Rows,
///     Columns,
/// }
/// # let _ = (Rows, Columns);
/// ```
#[macro_export]
macro_rules! teams {
    ($($(#[$meta:meta])* $vis:vis $name:ident),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis struct $name;
        #[diagnostic::do_not_recommend]
        impl $crate::TeamTag for $name {
            const NAME: &'static str = ::core::stringify!($name);
        }
    )+ };
}

/// PEs that make collective calls together.
///
/// Its collectives take local symmetric buffers, are enqueued on the job's stream and do not block. All PEs of the team make
/// the same calls in the same order, with the same lengths and types; that is compared, and shows as [`Error::Diverged`] at
/// the next wait of each of them.
///
/// ```
/// # use escrow::{Error, shmem::{self, Sum}};
/// let sums = shmem::launch(3, |job| {
///     let mine = job.create_buffer::<u32>(2)?.enqueue_fill(job.my_pe() as u32 + 1)?;
///     let mut all = job.create_buffer_zeroed::<u32>(2)?;
///     job.world().reduce(Sum, &mine, &mut all)?;
///     all.to_vec()
/// })?;
/// assert_eq!(sums, [[6, 6]; 3]);
/// # Ok::<(), Error>(())
/// ```
///
/// Source and destination are two buffers:
///
/// ```compile_fail,E0502
/// # use escrow::{Error, ShmemBuffer, ShmemContext, shmem::Sum};
/// fn sum(job: &ShmemContext, values: &mut ShmemBuffer<'_, f32>) -> Result<(), Error> {
///     job.world().reduce(Sum, &*values, values) // the others read the one while this writes the other
/// }
/// ```
pub struct Team<'job, G: TeamTag, S: StreamTag = Dyn> {
    bound: Bound,
    job: &'job ShmemContext<S>,
    /// Its members' numbers in the world, which the job keeps.
    members: Kept<NonNull<[u32]>>,
    number: u32,
    /// A hash of the members, which are the same on all of them; the number is not.
    identity: u64,
    calls: Kept<Cell<u64>>,
    tag: PhantomData<G>,
}

impl<'job, S: StreamTag> Team<'job, World, S> {
    pub(super) fn world(job: &'job ShmemContext<S>, members: NonNull<[u32]>) -> Self {
        Team {
            bound: Bound::default(),
            job,
            members: Kept(members),
            number: 0,
            identity: 0,
            calls: Kept(Cell::new(0)),
            tag: PhantomData,
        }
    }
}

impl<S: StreamTag> ShmemContext<S> {
    /// The PEs on this PE's host, as a team. All PEs call it.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert!(job.node()?.n_pes() >= 1)))?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`].
    pub fn node(&self) -> Result<Team<'_, Node, S>, Error> {
        let (engine, stream) = self.engine_and_stream();
        engine.check()?;
        let near = (0..self.n_pes()).filter(|&pe| engine.is_near(pe)).map(|pe| pe as u32).collect();
        let team = Team::of(self, near);
        engine.split(stream, Split::Near { new: team.number })?;
        Ok(team)
    }
}

impl<'job, G: TeamTag, S: StreamTag> Team<'job, G, S> {
    fn of(job: &'job ShmemContext<S>, members: Vec<u32>) -> Self {
        let identity = members.iter().fold(1, |hash, &pe| mix(hash, u64::from(pe)));
        let (members, number) = job.keep_members(members);
        Team {
            bound: Bound::default(),
            job,
            members: Kept(members),
            number,
            identity,
            calls: Kept(Cell::new(0)),
            tag: PhantomData,
        }
    }

    fn members(&self) -> &'job [u32] {
        // SAFETY: the job keeps the members of all its teams until it ends.
        unsafe { self.members.as_ref() }
    }

    /// The card of the team's next collective call.
    fn card(&self, kind: Kind, words: [u64; 3], digest: u64) -> Card {
        // The world is made anew at each call of `world`, so its calls are counted in the job.
        let calls = if self.number == 0 { self.job.count_call() } else { &self.calls };
        calls.set(calls.get() + 1);
        // PEs of two teams that overlap must not take the one's call for the other's: they would share out the elements
        // differently.
        Card::new(kind, calls.get(), words, mix(digest, self.identity))
    }

    fn agree(&self, card: Card) -> Result<(), Error> {
        let (engine, stream) = self.job.engine_and_stream();
        // SAFETY: the job keeps the members until it ends.
        unsafe { engine.agree(stream, OP, self.together(card)) }
    }

    fn together(&self, card: Card) -> Together {
        Together { team: self.number, members: *self.members, card }
    }

    /// How many PEs the team has.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.world().n_pes(), 2)))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn n_pes(&self) -> usize {
        self.members().len()
    }

    /// This PE, by its number in the team.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// assert_eq!(shmem::launch(2, |job| Ok(job.world().me().rank()))?, [0, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn me(&self) -> Pe<'job, G> {
        let me = self.job.my_pe();
        let rank = self.members().iter().position(|&pe| pe as usize == me).expect("only members have the team");
        Pe::new(rank, me, self.number)
    }

    /// The PE with this number in the team.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// escrow::teams! { Odd }
    /// shmem::launch(4, |job| {
    ///     if let Some(odd) = job.world().split_strided(Odd, 1, 2, 2)? {
    ///         assert_eq!(job.pe(3)?, odd.to_world(odd.pe(1)?)?);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoPe`].
    pub fn pe(&self, rank: usize) -> Result<Pe<'job, G>, Error> {
        let world = self.members().get(rank).ok_or(Error::NoPe { pe: rank, n_pes: self.n_pes() })?;
        Ok(Pe::new(rank, *world as usize, self.number))
    }

    /// All PEs of the team, from 0 on.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| Ok(assert_eq!(job.world().iter().len(), 2)))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Pe<'job, G>> + use<'job, G, S> {
        let number = self.number;
        self.members().iter().enumerate().map(move |(rank, &world)| Pe::new(rank, world as usize, number))
    }

    /// A PE of this team as one of the world, for puts and gets.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| {
    ///     let near = job.node()?;
    ///     Ok(assert_eq!(near.to_world(near.me())?, job.me()))
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongTeam`] if another team of the same tag named it.
    pub fn to_world(&self, pe: Pe<'job, G>) -> Result<Pe<'job, World>, Error> {
        self.same_team(pe)?;
        Ok(Pe::new(pe.world as usize, pe.world as usize, 0))
    }

    fn same_team(&self, pe: Pe<'_, G>) -> Result<(), Error> {
        if pe.team == self.number { Ok(()) } else { Err(Error::WrongTeam { op: OP }) }
    }

    /// The team of the PEs `start`, `start + stride`, ..., `size` of them, counted in this team. All PEs of this team call it;
    /// those that are not in the new one get `None`. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Sum}};
    /// escrow::teams! { Even }
    /// let sums = shmem::launch(4, |job| {
    ///     let mine = job.create_buffer::<u32>(1)?.enqueue_fill(job.my_pe() as u32 + 1)?;
    ///     let mut sum = job.create_buffer_zeroed::<u32>(1)?;
    ///     if let Some(even) = job.world().split_strided(Even, 0, 2, 2)? {
    ///         even.reduce(Sum, &mine, &mut sum)?; // PEs 0 and 2 alone
    ///     }
    ///     sum.to_vec()
    /// })?;
    /// assert_eq!(sums, [[4], [0], [4], [0]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// On all PEs alike: [`Error::NoPe`] if a PE of the new team is not in this one, [`Error::Refused`] for a stride or size
    /// of 0.
    pub fn split_strided<N: TeamTag>(
        &self,
        tag: N,
        start: usize,
        stride: usize,
        size: usize,
    ) -> Result<Option<Team<'job, N, S>>, Error> {
        let _ = tag;
        self.agree(self.card(Kind::SplitStrided, [start as u64, stride as u64, size as u64], 0))?;
        if stride == 0 || size == 0 {
            return Err(Error::Refused { op: OP, why: "a team has at least 1 PE, and a stride of at least 1" });
        }
        let last = (size - 1).checked_mul(stride).and_then(|last| last.checked_add(start));
        if last.is_none_or(|last| last >= self.n_pes()) {
            return Err(Error::NoPe { pe: last.unwrap_or(usize::MAX), n_pes: self.n_pes() });
        }
        let members: Vec<u32> = self.members()[start..].iter().step_by(stride).take(size).copied().collect();
        let team = members.contains(&(self.job.my_pe() as u32)).then(|| Team::of(self.job, members));
        let new = team.as_ref().map(|team: &Team<'_, N, S>| team.number);
        let (engine, stream) = self.job.engine_and_stream();
        engine.split(stream, Split::Strided { parent: self.number, start, stride, size, new })?;
        Ok(team)
    }

    /// Two teams for a grid of rows of `width` PEs, counted row by row: the PEs of this one's row, and those of its column.
    /// The last row may be shorter. All PEs of this team call it. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// escrow::teams! { Row, Column }
    /// let places = shmem::launch(4, |job| {
    ///     let (row, column) = job.world().split_2d(Row, Column, 2)?;
    ///     Ok((column.me().rank(), row.me().rank()))
    /// })?;
    /// assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] for a width of 0.
    pub fn split_2d<X: TeamTag, Y: TeamTag>(
        &self,
        row: X,
        column: Y,
        width: usize,
    ) -> Result<(Team<'job, X, S>, Team<'job, Y, S>), Error> {
        let _ = (row, column);
        self.agree(self.card(Kind::Split2d, [width as u64, 0, 0], 0))?;
        if width == 0 {
            return Err(Error::Refused { op: OP, why: "a row has at least 1 PE" });
        }
        let (me, width) = (self.me().rank(), width.min(self.n_pes()));
        let start = me / width * width;
        let row = self.members()[start..].iter().take(width).copied().collect();
        let column = self.members()[me % width..].iter().step_by(width).copied().collect();
        let (row, column): (Team<'_, X, S>, Team<'_, Y, S>) = (Team::of(self.job, row), Team::of(self.job, column));
        let (engine, stream) = self.job.engine_and_stream();
        engine.split(stream, Split::Grid { parent: self.number, width, row: row.number, column: column.number })?;
        Ok((row, column))
    }

    /// A barrier of the team: behind it, all that its PEs put before it has arrived. It flips no phases; that is what the
    /// job's [`barrier_all`](ShmemContext::barrier_all) does. Enqueued: does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// shmem::launch(2, |job| job.world().barrier())?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PeFailed`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.agree(self.card(Kind::TeamBarrier, [0; 3], 0))
    }

    /// The root's `src` to everybody's `dst`, its own too. Lengths must be equal.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(3, |job| {
    ///     let mine = job.create_buffer::<u32>(2)?.enqueue_fill(job.my_pe() as u32)?;
    ///     let mut all = job.create_buffer_zeroed::<u32>(2)?;
    ///     job.world().broadcast(job.pe(1)?, &mine, &mut all)?;
    ///     all.to_vec()
    /// })?;
    /// assert_eq!(got, [[1, 1]; 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] and [`Error::WrongTeam`] on all PEs that passed the same; [`Error::PeFailed`].
    pub fn broadcast<T: DType>(
        &self,
        root: Pe<'job, G>,
        src: &ShmemBuffer<'job, T, S>,
        dst: &mut ShmemBuffer<'job, T, S>,
    ) -> Result<(), Error> {
        let fits = self.same_team(root).and_then(|()| lengths(dst.len(), src.len(), Some(src.len())));
        let call = self.call(Kind::Broadcast, u64::from(root.world), src, dst, &fits);
        let what = Collective::Broadcast { root: root.world as usize, bytes: size_of::<T>() * src.len() };
        // SAFETY: the ranges lie in the buffers.
        unsafe { self.collective(call, fits, what) }
    }

    /// All PEs' `src`, one behind the other in the order of the team, to everybody's `dst`, which is as long as all of them.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(3, |job| {
    ///     let mine = job.create_buffer::<u32>(1)?.enqueue_fill(job.my_pe() as u32)?;
    ///     let mut all = job.create_buffer_zeroed::<u32>(3)?;
    ///     job.world().fcollect(&mine, &mut all)?;
    ///     all.to_vec()
    /// })?;
    /// assert_eq!(got, [[0, 1, 2]; 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`broadcast`](Team::broadcast).
    pub fn fcollect<T: DType>(
        &self,
        src: &ShmemBuffer<'job, T, S>,
        dst: &mut ShmemBuffer<'job, T, S>,
    ) -> Result<(), Error> {
        let fits = lengths(dst.len(), src.len(), src.len().checked_mul(self.n_pes()));
        let call = self.call(Kind::Fcollect, 0, src, dst, &fits);
        let what = Collective::Exchange { bytes: size_of::<T>() * src.len(), same: true };
        // SAFETY: as for `broadcast`; `dst` has a part for each PE (`lengths`).
        unsafe { self.collective(call, fits, what) }
    }

    /// Part `j` of PE `i`'s `src` to part `i` of PE `j`'s `dst`. Both have one part of equal length for each PE of the team.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let me = job.my_pe() as u32;
    ///     let mine = job.create_buffer::<u32>(2)?.copy_from_slice(&[10 * me, 10 * me + 1])?;
    ///     let mut all = job.create_buffer_zeroed::<u32>(2)?;
    ///     job.world().alltoall(&mine, &mut all)?;
    ///     all.to_vec()
    /// })?;
    /// assert_eq!(got, [[0, 10], [1, 11]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`broadcast`](Team::broadcast); [`Error::Refused`] if the length is not a multiple of the number of PEs.
    pub fn alltoall<T: DType>(
        &self,
        src: &ShmemBuffer<'job, T, S>,
        dst: &mut ShmemBuffer<'job, T, S>,
    ) -> Result<(), Error> {
        let fits = lengths(dst.len(), src.len(), Some(src.len())).and_then(|()| {
            if src.len().is_multiple_of(self.n_pes()) {
                return Ok(());
            }
            Err(Error::Refused { op: OP, why: "`alltoall` needs a part of equal length for each PE of the team" })
        });
        let call = self.call(Kind::Alltoall, 0, src, dst, &fits);
        let what = Collective::Exchange { bytes: size_of::<T>() * (src.len() / self.n_pes()), same: false };
        // SAFETY: as for `broadcast`; both have a part for each PE.
        unsafe { self.collective(call, fits, what) }
    }

    /// Element by element, the reduction of all PEs' `src` to everybody's `dst`. Lengths must be equal. The order is that of
    /// the team's PEs.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Max}};
    /// let got = shmem::launch(3, |job| {
    ///     let mine = job.create_buffer::<f32>(2)?.copy_from_slice(&[job.my_pe() as f32, -1.0])?;
    ///     let mut all = job.create_buffer_zeroed::<f32>(2)?;
    ///     job.world().reduce(Max, &mine, &mut all)?;
    ///     all.to_vec()
    /// })?;
    /// assert_eq!(got, [[2.0, -1.0]; 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`broadcast`](Team::broadcast).
    pub fn reduce<T: DType, O: Reduction<T>>(
        &self,
        op: O,
        src: &ShmemBuffer<'job, T, S>,
        dst: &mut ShmemBuffer<'job, T, S>,
    ) -> Result<(), Error> {
        let _ = op;
        let fits = lengths(dst.len(), src.len(), Some(src.len()));
        let call = self.call(Kind::Reduce, O::NUMBER, src, dst, &fits);
        let what = Collective::Reduce(reduction::<T, O>(src.len()));
        // SAFETY: as for `broadcast`; they are two buffers, so they do not overlap.
        unsafe { self.collective(call, fits, what) }
    }

    /// As [`reduce`](Team::reduce), and each PE gets its own part of the result only: `src` is as long as all PEs' `dst`.
    ///
    /// ```
    /// # use escrow::{Error, shmem::{self, Sum}};
    /// let got = shmem::launch(2, |job| {
    ///     let mine = job.create_buffer::<u32>(4)?.copy_from_slice(&[1, 2, 3, 4])?;
    ///     let mut part = job.create_buffer_zeroed::<u32>(2)?;
    ///     job.world().reduce_scatter(Sum, &mine, &mut part)?;
    ///     part.to_vec()
    /// })?;
    /// assert_eq!(got, [[2, 4], [6, 8]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`broadcast`](Team::broadcast).
    pub fn reduce_scatter<T: DType, O: Reduction<T>>(
        &self,
        op: O,
        src: &ShmemBuffer<'job, T, S>,
        dst: &mut ShmemBuffer<'job, T, S>,
    ) -> Result<(), Error> {
        let _ = op;
        let fits = lengths(src.len(), dst.len(), dst.len().checked_mul(self.n_pes()));
        let call = self.call(Kind::ReduceScatter, O::NUMBER, src, dst, &fits);
        let what = Collective::ReduceScatter(reduction::<T, O>(dst.len()));
        // SAFETY: as for `reduce`; `src` has a part for each PE (`lengths`).
        unsafe { self.collective(call, fits, what) }
    }

    /// What this PE is about to do, and with which memory. All of it is compared, also whether it fits: a PE whose
    /// arguments do not is not where the others may write to its memory.
    fn call<T: DType>(
        &self,
        kind: Kind,
        extra: u64,
        src: &ShmemBuffer<'job, T, S>,
        dst: &ShmemBuffer<'job, T, S>,
        fits: &Result<(), Error>,
    ) -> Call {
        let what = [dst.len() as u64, slot(dst.entry()), slot(src.entry()), u64::from(fits.is_ok())];
        let digest = what.into_iter().fold(digest_of(std::any::type_name::<T>()), mix);
        let card = self.card(kind, [src.len() as u64, size_of::<T>() as u64, extra], digest);
        let place =
            |buffer: &ShmemBuffer<'job, T, S>| engine::target(buffer.entry(), buffer.unsafe_ptr().as_ptr().cast());
        let targets = place(dst).zip(place(src)).map(|(dst, src)| [dst, src]);
        Call { card, targets }
    }

    /// Enqueues a collective. Where this PE's arguments do not fit, the agreement alone: the others, if theirs are the same,
    /// report the same; if not, that the calls differ.
    ///
    /// # Safety
    /// If the arguments fit, the ranges lie in the call's memory.
    unsafe fn collective(&self, call: Call, fits: Result<(), Error>, what: Collective) -> Result<(), Error> {
        let Call { card, targets } = call;
        match (fits, targets) {
            (Err(error), _) => Err(self.agree(card).err().unwrap_or(error)),
            (Ok(()), None) => self.agree(card),
            (Ok(()), Some(targets)) => {
                let (engine, stream) = self.job.engine_and_stream();
                // SAFETY: the ranges fit, by the caller's duty. The buffers are local, so nothing but this uses them until this
                // stream has passed it; on the other PEs neither, since all of them come to this call first (`agree`). Their
                // allocations are not dropped by this PE.
                unsafe { engine.collective(stream, self.together(card), targets, what) }
            }
        }
    }
}

fn reduction<T: DType, O: Reduction<T>>(len: usize) -> Reduce {
    Reduce { len, size: size_of::<T>(), combine: combine::<T, O>, names: [O::NAME, O::ELEM] }
}

/// A collective call and its memory.
#[derive(Clone, Copy)]
struct Call {
    card: Card,
    targets: Option<[Target; 2]>,
}

fn lengths(dst: usize, src: usize, needed: Option<usize>) -> Result<(), Error> {
    if needed == Some(dst) { Ok(()) } else { Err(Error::Length { op: OP, dst, src }) }
}

impl<G: TeamTag, S: StreamTag> fmt::Debug for Team<'_, G, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Team({}, {} PEs)", G::NAME, self.n_pes())
    }
}
