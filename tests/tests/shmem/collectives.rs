//! Collectives of teams: broadcast, fcollect, alltoall, and the reductions by every operation and type, against a model.

use std::fmt::Debug;

use escrow::shmem::{And, Max, Min, Or, Prod, Sum, Xor};
use escrow::{Bool8, DType, Error, F8E4M3, F8E5M2, PodElement, Reduction, ShmemContext, shmem};

use super::moves::{Particle, Sample, by_every_type, of_pe};
use super::{everywhere, local};

const LEN: usize = 5;

fn moves<T: Sample>(job: &ShmemContext) -> Result<(), Error> {
    let (me, n, world) = (job.my_pe(), job.n_pes(), job.world());
    let mine = local(job, &of_pe::<T>(me, LEN))?;
    let mut all = local(job, &[T::sample(0); LEN])?;
    for root in job.iter() {
        all.enqueue_fill(T::sample(0))?;
        world.broadcast(root, &mine, &mut all)?;
        assert_eq!(all.to_vec()?, of_pe::<T>(root.rank(), LEN));
    }
    let mut wide = local(job, &vec![T::sample(0); n * LEN])?;
    world.fcollect(&mine, &mut wide)?;
    let everybody: Vec<T> = (0..n).flat_map(|pe| of_pe::<T>(pe, LEN)).collect();
    assert_eq!(wide.to_vec()?, everybody);

    let parts = local(job, &of_pe::<T>(me, n * 2))?;
    let mut got = local(job, &vec![T::sample(0); n * 2])?;
    world.alltoall(&parts, &mut got)?;
    let expected: Vec<T> = (0..n).flat_map(|pe| of_pe::<T>(pe, n * 2)[2 * me..][..2].to_vec()).collect();
    assert_eq!(got.to_vec()?, expected);
    assert_eq!(parts.to_vec()?, of_pe::<T>(me, n * 2));
    Ok(())
}

#[test]
fn moves_by_every_type() {
    everywhere(|job| {
        by_every_type!(moves(job));
        Ok(())
    });
}

/// One reduction of one type, on vectors that are longer than there are PEs, as long, and shorter.
fn reduces<T: DType + PartialEq + Debug, O: Reduction<T>>(
    job: &ShmemContext,
    op: O,
    model: fn(T, T) -> T,
    sample: fn(usize) -> T,
) -> Result<(), Error> {
    let (me, n) = (job.my_pe(), job.n_pes());
    let values = |pe: usize, len: usize| (0..len).map(|i| sample(pe * 31 + i * 7)).collect::<Vec<T>>();
    let folded = |len: usize| -> Vec<T> {
        (0..len).map(|i| (1..n).fold(values(0, len)[i], |sum, pe| model(sum, values(pe, len)[i]))).collect()
    };
    for len in [1, 4, 9] {
        let mine = local(job, &values(me, len))?;
        let mut all = local(job, &vec![sample(0); len])?;
        job.world().reduce(op, &mine, &mut all)?;
        assert_eq!(all.to_vec()?, folded(len), "{} of {}", std::any::type_name::<O>(), std::any::type_name::<T>());
    }
    let mine = local(job, &values(me, 3 * n))?;
    let mut part = local(job, &[sample(0); 3])?;
    job.world().reduce_scatter(op, &mine, &mut part)?;
    assert_eq!(part.to_vec()?, folded(3 * n)[3 * me..][..3]);
    Ok(())
}

/// All reductions of some types.
macro_rules! reductions {
    (integers $job:ident: $($t:ty)+) => { $({
        let sample: fn(usize) -> $t = |n| (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(9) as $t;
        reduces($job, Sum, |a: $t, b| a.wrapping_add(b), sample)?;
        reduces($job, Prod, |a: $t, b| a.wrapping_mul(b), sample)?;
        reduces($job, Min, |a: $t, b| if b < a { b } else { a }, sample)?;
        reduces($job, Max, |a: $t, b| if b > a { b } else { a }, sample)?;
        reduces($job, And, |a: $t, b| a & b, sample)?;
        reduces($job, Or, |a: $t, b| a | b, sample)?;
        reduces($job, Xor, |a: $t, b| a ^ b, sample)?;
    })+ };
    (floats $job:ident: $($t:ty, $from:expr;)+) => { $({
        let sample: fn(usize) -> $t = |n| $from((n % 23) as f32 * 0.37 - 2.0);
        reduces($job, Sum, |a: $t, b| a + b, sample)?;
        reduces($job, Prod, |a: $t, b| a * b, sample)?;
        reduces($job, Min, |a: $t, b| if b < a { b } else { a }, sample)?;
        reduces($job, Max, |a: $t, b| if b > a { b } else { a }, sample)?;
    })+ };
}

#[test]
fn reductions_of_integers() {
    everywhere(|job| {
        reductions!(integers job: i8 u8 i16 u16 i32 u32 i64 u64);
        Ok(())
    });
}

/// Floats come out in the order of the PEs, so the same bits everywhere.
///
/// Broken on purpose: in `wire.rs`, `combine` takes its own PE's elements first.
#[test]
fn reductions_of_floats() {
    everywhere(|job| {
        reductions!(floats job: f32, |x| x; f64, f64::from; half::f16, half::f16::from_f32; half::bf16, half::bf16::from_f32;);
        Ok(())
    });
}

#[test]
fn a_number_wins_over_a_nan() {
    everywhere(|job| {
        let mine = local(job, &[if job.my_pe() == 0 { f32::NAN } else { 2.0 }])?;
        let mut all = local(job, &[0.0f32])?;
        job.world().reduce(Min, &mine, &mut all)?;
        let got = all.to_vec()?[0];
        assert!(if job.n_pes() == 1 { got.is_nan() } else { got == 2.0 });
        job.world().reduce(Max, &mine, &mut all)?;
        assert_eq!(all.to_vec()?[0].is_nan(), job.n_pes() == 1);
        Ok(())
    });
}

/// Reductions of more than one piece of memory at a time (64 KiB).
#[test]
fn large_reductions() {
    shmem::launch(3, |job| {
        let me = job.my_pe() as u64;
        let values: Vec<u64> = (0..50_000).map(|i| i * (me + 1)).collect();
        let mine = local(job, &values)?;
        let mut all = job.create_buffer_zeroed::<u64>(50_000)?;
        job.world().reduce(Sum, &mine, &mut all)?;
        assert!(all.to_vec()?.iter().zip(0..).all(|(sum, i)| *sum == i * 6));
        Ok(())
    })
    .unwrap();
}

/// The lengths that do not fit are errors on all PEs alike, and the job goes on.
#[test]
fn lengths_that_do_not_fit() {
    everywhere(|job| {
        let (n, world) = (job.n_pes(), job.world());
        let three = job.create_buffer_zeroed::<u8>(3)?;
        let mut two = job.create_buffer_zeroed::<u8>(2)?;
        let root = job.pe(0)?;
        assert!(matches!(world.broadcast(root, &three, &mut two), Err(Error::Length { dst: 2, src: 3, .. })));
        assert!(matches!(world.fcollect(&three, &mut two), Err(Error::Length { dst: 2, src: 3, .. })));
        assert!(matches!(world.alltoall(&three, &mut two), Err(Error::Length { dst: 2, src: 3, .. })));
        assert!(matches!(world.reduce(Sum, &three, &mut two), Err(Error::Length { dst: 2, src: 3, .. })));
        if n > 1 {
            let odd = job.create_buffer_zeroed::<u8>(n + 1)?;
            let mut other = job.create_buffer_zeroed::<u8>(n + 1)?;
            assert!(matches!(world.alltoall(&odd, &mut other), Err(Error::Refused { .. })));
            assert!(matches!(world.reduce_scatter(Sum, &odd, &mut other), Err(Error::Length { .. })));
        }
        world.barrier()?;
        two.enqueue_fill(4)?;
        assert_eq!(two.to_vec()?, [4; 2]);
        Ok(())
    });
}

/// 18, R22: a collective writes to a PE's memory only when that PE has come to it: an earlier kernel there has ended.
///
/// Broken on purpose: in `wire.rs`, `broadcast`, `exchange` or `reduce` go without their first agreement.
#[test]
fn a_collective_waits_for_earlier_work_on_its_destination() {
    use std::sync::mpsc::channel;
    let (started, begun) = channel::<()>();
    let (started, begun) = (std::sync::Mutex::new(Some(started)), std::sync::Mutex::new(begun));
    for collective in 0..3 {
        shmem::launch(2, |job| {
            let (me, world) = (job.my_pe(), job.world());
            let mine = job.create_buffer::<u32>(4)?.enqueue_fill(1)?;
            let mut dst = job.create_buffer_zeroed::<u32>(4)?;
            let mut wide = job.create_buffer_zeroed::<u32>(8)?;
            let sender = started.lock().unwrap().as_ref().unwrap().clone();
            if me == 1 {
                // PE 1 is late: PE 0's stream is in its collective.
                begun.lock().unwrap().recv().unwrap();
                for _ in 0..5000 {
                    std::thread::yield_now();
                }
                assert_eq!(dst.to_vec()?, [0; 4], "written before this PE came");
                assert_eq!(wide.to_vec()?, [0; 8], "written before this PE came");
            }
            if me == 0 {
                // From its stream, right before the collective.
                escrow_tests::on_worker(job.context(), move || sender.send(()).unwrap())?;
            }
            match collective {
                0 => world.broadcast(job.pe(0)?, &mine, &mut dst)?,
                1 => world.fcollect(&mine, &mut wide)?,
                _ => world.reduce(Sum, &mine, &mut dst)?,
            }
            assert_eq!(dst.to_vec()?[0], [1, 0, 2][collective]);
            Ok(())
        })
        .unwrap();
    }
}
