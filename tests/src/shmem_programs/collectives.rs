//! Collectives, by every element type and reduction, on the world and on teams.

use escrow::shmem::{And, Max, Min, Or, Prod, Sum, Xor};
use escrow::{Bool8, Error, F8E5M2, Reduction, ShmemBuffer, ShmemContext, Team, TeamTag};
use half::{bf16, f16};

use super::{Sample, values};

escrow::teams! { Even, Upper, Last, Row, Column }

/// On all PEs.
pub(crate) fn world(job: &ShmemContext) -> Result<(), Error> {
    on(job, Some(&job.world()))
}

/// On every second PE, on the upper half, on the rows and columns of a grid.
pub(crate) fn teams(job: &ShmemContext) -> Result<(), Error> {
    let (me, pes) = (job.my_pe(), job.n_pes());
    let even = job.world().split_strided(Even, 0, 2, pes.div_ceil(2))?;
    assert_eq!(even.is_some(), me.is_multiple_of(2));
    on(job, even.as_ref())?;
    if let Some(even) = &even {
        // A team of a team.
        let last = even.split_strided(Last, even.n_pes() - 1, 1, 1)?;
        assert_eq!(last.is_some(), even.me().rank() == even.n_pes() - 1);
        if let Some(last) = last {
            assert_eq!((last.n_pes(), last.me().rank()), (1, 0));
            last.barrier()?;
        }
    }
    let upper = job.world().split_strided(Upper, pes / 2, 1, pes - pes / 2)?;
    assert_eq!(upper.is_some(), me >= pes / 2);
    on(job, upper.as_ref())?;
    let (row, column) = job.world().split_2d(Row, Column, 2)?;
    let width = 2.min(pes);
    assert_eq!((row.me().rank(), column.me().rank()), (me % width, me / width));
    assert_eq!(row.to_world(row.me())?, job.me());
    on(job, Some(&row))?;
    on(job, Some(&column))?;
    // Both between each other, without a barrier of all.
    for _ in 0..20 {
        row.barrier()?;
        column.barrier()?;
    }
    let node = job.node()?;
    assert_eq!(node.to_world(node.me())?, job.me());
    node.barrier()
}

/// Memory for the collectives of a team of any size: symmetric memory is made by all PEs, in one length.
struct Memory<'job, T> {
    len: usize,
    mine: ShmemBuffer<'job, T>,
    result: ShmemBuffer<'job, T>,
    /// A part for each PE of a team of 1, 2, ... PEs.
    parts: Vec<ShmemBuffer<'job, T>>,
    all: Vec<ShmemBuffer<'job, T>>,
}

impl<'job, T: Sample> Memory<'job, T> {
    fn new(job: &'job ShmemContext, len: usize) -> Result<Self, Error> {
        let by_size =
            || (1..=job.n_pes()).map(|size| job.create_buffer_zeroed::<T>(len * size)).collect::<Result<_, Error>>();
        Ok(Memory {
            len,
            mine: job.create_buffer_zeroed(len)?,
            result: job.create_buffer_zeroed(len)?,
            parts: by_size()?,
            all: by_size()?,
        })
    }
}

/// All collectives of this PE's team, if it is in one. All PEs call it.
fn on<'job, G: TeamTag>(job: &'job ShmemContext, team: Option<&Team<'job, G>>) -> Result<(), Error> {
    /// What a type has.
    type Reductions<'job, T, G> = fn(&mut Memory<'job, T>, &OfTeam<'_, 'job, G>) -> Result<(), Error>;

    fn of_type<'job, T: Sample, G: TeamTag>(
        job: &'job ShmemContext,
        team: Option<&Team<'job, G>>,
        reductions: Reductions<'job, T, G>,
    ) -> Result<(), Error> {
        for len in [1, 6, 333] {
            let mut memory = Memory::new(job, len)?;
            if let Some(team) = team {
                let members = team.iter().map(|pe| Ok(team.to_world(pe)?.rank())).collect::<Result<_, Error>>()?;
                let of = OfTeam { team, members, me: job.my_pe() };
                moves(&mut memory, &of)?;
                reductions(&mut memory, &of)?;
            }
        }
        Ok(())
    }

    macro_rules! types {
        ($reductions:ident: $($t:ty),+) => { $( of_type::<$t, G>(job, team, $reductions!($t))?; )+ };
    }
    macro_rules! integer {
        ($t:ty) => {
            |memory, team| {
                reduction(memory, team, Sum, |a: $t, b| a.wrapping_add(b))?;
                reduction(memory, team, Prod, |a: $t, b| a.wrapping_mul(b))?;
                reduction(memory, team, Min, |a: $t, b| a.min(b))?;
                reduction(memory, team, Max, |a: $t, b| a.max(b))?;
                reduction(memory, team, And, |a: $t, b| a & b)?;
                reduction(memory, team, Or, |a: $t, b| a | b)?;
                reduction(memory, team, Xor, |a: $t, b| a ^ b)
            }
        };
    }
    macro_rules! float {
        ($t:ty) => {
            |memory, team| {
                reduction(memory, team, Sum, |a: $t, b| a + b)?;
                reduction(memory, team, Prod, |a: $t, b| a * b)?;
                reduction(memory, team, Min, |a: $t, b| a.min(b))?;
                reduction(memory, team, Max, |a: $t, b| a.max(b))
            }
        };
    }
    macro_rules! nothing {
        ($t:ty) => {
            |_, _| Ok(())
        };
    }
    types!(integer: i8, u8, i16, u16, i32, u32, i64, u64);
    types!(float: f32, f64, f16, bf16);
    types!(nothing: F8E5M2, Bool8, [u16; 3]);
    Ok(())
}

/// A team, its members' numbers in the world, and this PE's.
struct OfTeam<'a, 'job, G: TeamTag> {
    team: &'a Team<'job, G>,
    members: Vec<usize>,
    me: usize,
}

/// What copies.
fn moves<'job, T: Sample, G: TeamTag>(memory: &mut Memory<'job, T>, of: &OfTeam<'_, 'job, G>) -> Result<(), Error> {
    let OfTeam { team, members, me } = of;
    let (len, size, rank) = (memory.len, members.len(), team.me().rank());
    let joined = |part: &dyn Fn(usize) -> Vec<T>| members.iter().flat_map(|&pe| part(pe)).collect::<Vec<T>>();

    memory.mine.copy_from_slice(&values(*me, len))?;
    for (root, &pe) in members.iter().enumerate() {
        team.broadcast(team.pe(root)?, &memory.mine, &mut memory.result)?;
        assert_eq!(memory.result.to_vec()?, values(pe, len));
    }
    let (parts, all) = (&mut memory.parts[size - 1], &mut memory.all[size - 1]);
    team.fcollect(&memory.mine, all)?;
    assert_eq!(all.to_vec()?, joined(&|pe| values(pe, len)));
    parts.copy_from_slice(&(0..size).flat_map(|to| values(me * 7 + to, len)).collect::<Vec<T>>())?;
    team.alltoall(parts, all)?;
    assert_eq!(all.to_vec()?, joined(&|pe| values(pe * 7 + rank, len)));
    team.barrier()
}

/// `reduce` and `reduce_scatter` against a fold in the order of the team.
fn reduction<'job, T: Sample, G: TeamTag, O: Reduction<T>>(
    memory: &mut Memory<'job, T>,
    of: &OfTeam<'_, 'job, G>,
    op: O,
    apply: fn(T, T) -> T,
) -> Result<(), Error> {
    let OfTeam { team, members, me } = of;
    let (len, size) = (memory.len, members.len());
    let expected = |len: usize| -> Vec<T> {
        let of = |pe: usize| values::<T>(pe + 2, len);
        let combine = |sum: Vec<T>, &pe: &usize| sum.into_iter().zip(of(pe)).map(|(a, b)| apply(a, b)).collect();
        members[1..].iter().fold(of(members[0]), combine)
    };
    memory.mine.copy_from_slice(&values(me + 2, len))?;
    team.reduce(op, &memory.mine, &mut memory.result)?;
    assert_eq!(memory.result.to_vec()?, expected(len));

    let parts = &mut memory.parts[size - 1];
    parts.copy_from_slice(&values(me + 2, len * size))?;
    team.reduce_scatter(op, parts, &mut memory.result)?;
    let start = team.me().rank() * len;
    assert_eq!(memory.result.to_vec()?, expected(len * size)[start..start + len]);
    Ok(())
}
