//! Teams: which PEs they have, whose values they take, and that their calls do not mix.

use escrow::{Error, shmem};
use shmem::{Max, Sum};

use super::{devices, everywhere, in_time, local};

escrow::teams! { Even, Odd, Row, Column, Inner, Same }

#[test]
fn strided_splits() {
    everywhere(|job| {
        let (me, n, world) = (job.my_pe(), job.n_pes(), job.world());
        let even = world.split_strided(Even, 0, 2, n.div_ceil(2))?;
        let odd = if n > 1 { world.split_strided(Odd, 1, 2, n / 2)? } else { None };
        assert_eq!((even.is_some(), odd.is_some()), (me % 2 == 0, me % 2 == 1));
        let mine = local(job, &[me as u32])?;
        let mut sum = local(job, &[100u32])?;
        if let Some(even) = &even {
            assert_eq!((even.n_pes(), even.me().rank()), (n.div_ceil(2), me / 2));
            assert!(even.iter().map(escrow::Pe::rank).eq(0..even.n_pes()));
            assert_eq!(even.to_world(even.me())?, job.me());
            assert!(matches!(even.pe(even.n_pes()), Err(Error::NoPe { .. })));
            even.reduce(Sum, &mine, &mut sum)?;
            assert_eq!(sum.to_vec()?, [(0..n as u32).step_by(2).sum::<u32>()]);
            even.broadcast(even.pe(even.n_pes() - 1)?, &mine, &mut sum)?;
            assert_eq!(sum.to_vec()?, [2 * (even.n_pes() as u32 - 1)]);
        }
        if let Some(odd) = &odd {
            odd.barrier()?;
            odd.reduce(Sum, &mine, &mut sum)?;
            assert_eq!(sum.to_vec()?, [(1..n as u32).step_by(2).sum::<u32>()]);
        }
        // On all PEs alike, also on those that would not have been in it.
        assert!(matches!(world.split_strided(Odd, 1, 2, n), Err(Error::NoPe { .. })));
        assert!(matches!(world.split_strided(Odd, usize::MAX, 2, 2), Err(Error::NoPe { .. })));
        assert!(matches!(world.split_strided(Odd, 0, 0, 1), Err(Error::Refused { .. })));
        assert!(matches!(world.split_strided(Odd, 0, 1, 0), Err(Error::Refused { .. })));
        assert!(matches!(world.split_2d(Row, Column, 0), Err(Error::Refused { .. })));
        world.barrier()
    });
}

#[test]
fn grids_and_nested_splits() {
    everywhere(|job| {
        let (me, n, world) = (job.my_pe(), job.n_pes(), job.world());
        for width in 1..=n + 1 {
            let (row, column) = world.split_2d(Row, Column, width)?;
            let width = width.min(n);
            let (x, y) = (me % width, me / width);
            assert_eq!((row.me().rank(), column.me().rank()), (x, y));
            assert_eq!(row.n_pes(), width.min(n - y * width));
            assert_eq!(column.n_pes(), (x..n).step_by(width).count());
            let mine = local(job, &[me as u64])?;
            let (mut across, mut down) = (local(job, &[0u64])?, local(job, &[0u64])?);
            row.reduce(Max, &mine, &mut across)?;
            column.reduce(Sum, &mine, &mut down)?;
            assert_eq!(across.to_vec()?, [(y * width + row.n_pes() - 1) as u64]);
            assert_eq!(down.to_vec()?, [(x..n).step_by(width).sum::<usize>() as u64]);
            // A team of a team.
            let first = row.split_strided(Inner, 0, 1, row.n_pes().min(2))?;
            assert_eq!(first.is_some(), x < 2);
            if let Some(first) = first {
                first.reduce(Sum, &mine, &mut across)?;
                let expected: usize = (0..first.n_pes()).map(|x| y * width + x).sum();
                assert_eq!(across.to_vec()?, [expected as u64]);
            }
        }
        let node = job.node()?;
        assert_eq!((node.n_pes(), node.me().rank()), (n, me));
        node.barrier()
    });
}

/// Q10: several teams may bear one tag; a PE of another one is refused on all PEs alike.
///
/// Broken on purpose: in `team.rs`, `same_team` returns `Ok(())`.
#[test]
fn pes_of_another_team_of_the_same_tag_are_refused() {
    everywhere(|job| {
        let (n, world) = (job.n_pes(), job.world());
        let one = world.split_strided(Same, 0, 1, n)?.unwrap();
        let two = world.split_strided(Same, 0, 1, n)?.unwrap();
        let mine = job.create_buffer_zeroed::<u8>(1)?;
        let mut all = job.create_buffer_zeroed::<u8>(1)?;
        assert!(matches!(one.broadcast(two.pe(0)?, &mine, &mut all), Err(Error::WrongTeam { .. })));
        assert!(matches!(two.to_world(one.pe(0)?), Err(Error::WrongTeam { .. })));
        assert_ne!(one.pe(0)?, two.pe(0)?);
        one.broadcast(one.pe(0)?, &mine, &mut all)?;
        all.to_vec().map(|_| ())
    });
}

/// 18: a PE whose arguments do not fit has left the call; the others, whose do, must not go on and write to its memory.
///
/// Broken on purpose: in `team.rs`, `call` leaves out `fits`.
#[test]
fn what_fits_on_some_pes_only_is_a_divergence() {
    for device in devices() {
        let result = in_time(move || {
            shmem::launch_on(escrow::Dyn, device, 2, |job| {
                let world = job.world();
                let one = world.split_strided(Same, 0, 1, 2)?.unwrap();
                let two = world.split_strided(Same, 0, 1, 2)?.unwrap();
                let mine = job.create_buffer::<u8>(1)?.enqueue_fill(1)?;
                let mut all = job.create_buffer_zeroed::<u8>(1)?;
                let root = if job.my_pe() == 1 { two.pe(0)? } else { one.pe(0)? };
                let called = one.broadcast(root, &mine, &mut all);
                assert_eq!(called.is_err(), job.my_pe() == 1);
                assert!(matches!(all.to_vec(), Err(Error::Diverged(_))));
                Ok(())
            })
        });
        assert!(matches!(result, Err(Error::Diverged(_))), "{result:?}");
    }
}

/// 18: PEs of two teams that overlap are not in one call, though it is the same call of each.
///
/// They would share out the elements by different numbers of PEs, and write where another one combines.
///
/// Broken on purpose: in `team.rs`, `card` leaves out `identity`.
#[test]
fn overlapping_teams_are_told_apart() {
    for device in devices() {
        let result = in_time(move || {
            shmem::launch_on(escrow::Dyn, device, 3, |job| {
                let world = job.world();
                let pair = world.split_strided(Same, 0, 1, 2)?;
                let all = world.split_strided(Same, 0, 1, 3)?.unwrap();
                let mine = job.create_buffer::<u32>(12)?.enqueue_fill(1)?;
                let mut sum = job.create_buffer_zeroed::<u32>(12)?;
                match &pair {
                    Some(pair) if job.my_pe() == 0 => pair.reduce(Sum, &mine, &mut sum)?,
                    _ => all.reduce(Sum, &mine, &mut sum)?,
                }
                sum.to_vec()
            })
        });
        let Err(Error::Diverged(calls)) = &result else { panic!("{result:?}") };
        assert!(calls.there.1.contains("teams"), "{calls:?}");
    }
}

/// The same call with other buffers is another call.
///
/// Broken on purpose: in `team.rs`, `call` leaves out the slots.
#[test]
fn a_collective_with_other_buffers_is_a_divergence() {
    for device in devices() {
        let result = in_time(move || {
            shmem::launch_on(escrow::Dyn, device, 2, |job| {
                let mine = job.create_buffer_zeroed::<u32>(4)?;
                let (mut a, mut b) = (job.create_buffer_zeroed::<u32>(4)?, job.create_buffer_zeroed::<u32>(4)?);
                job.world().reduce(Sum, &mine, if job.my_pe() == 0 { &mut a } else { &mut b })?;
                a.to_vec()
            })
        });
        assert!(matches!(result, Err(Error::Diverged(_))), "{result:?}");
    }
}
