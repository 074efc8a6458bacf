//! Puts and gets, by every element type.

use std::fmt::Debug;

use escrow::{Bool8, DType, Error, F8E4M3, F8E5M2, PodElement, ShmemContext, shmem};

use super::{devices, everywhere, local, plain};

/// An element with a value for each number.
pub(super) trait Sample: DType + PartialEq + Debug {
    fn sample(n: usize) -> Self;
}

macro_rules! samples {
    ($($t:ty: |$n:ident| $value:expr;)+) => { $(
        impl Sample for $t {
            fn sample($n: usize) -> $t {
                $value
            }
        }
    )+ };
}

/// An element of a user's.
#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
pub(super) struct Particle {
    place: [f64; 3],
    charge: i32,
    kind: u32,
}

samples! {
    i8: |n| n as i8;
    u8: |n| n as u8;
    i16: |n| (n * 77) as i16;
    u16: |n| (n * 77) as u16;
    i32: |n| (n * 0x0101_0107) as i32;
    u32: |n| (n * 0x0101_0107) as u32;
    i64: |n| (n as i64 - 2) * 0x0101_0101_0101_0107;
    u64: |n| n as u64 * 0x0101_0101_0101_0107;
    f32: |n| n as f32 * 0.5 - 3.0;
    f64: |n| n as f64 * 0.25 - 3.0;
    half::f16: |n| half::f16::from_f32((n % 100) as f32 * 0.5);
    half::bf16: |n| half::bf16::from_f32((n % 100) as f32);
    Bool8: |n| Bool8::new(n % 3 == 1);
    F8E4M3: |n| F8E4M3::from_bits((n % 120) as u8);
    F8E5M2: |n| F8E5M2::from_bits((n % 120) as u8);
    PodElement<[u8; 3]>: |n| PodElement::new([n as u8, (n >> 1) as u8, 7]);
    [u16; 3]: |n| [n as u16, 3, (n * 5) as u16];
    // More than an operation carries in place.
    [u64; 20]: |n| std::array::from_fn(|i| (n * 100 + i) as u64);
    Particle: |n| Particle { place: [n as f64, 0.5, -1.0], charge: -(n as i32), kind: 9 };
}

/// Calls `$f::<T>($job)?` for every element type.
macro_rules! by_every_type {
    ($f:ident($job:expr)) => {
        by_every_type!(@ $f, $job, i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 half::f16 half::bf16 Bool8 F8E4M3 F8E5M2);
        $f::<PodElement<[u8; 3]>>($job)?;
        $f::<[u16; 3]>($job)?;
        $f::<[u64; 20]>($job)?;
        $f::<Particle>($job)?;
    };
    (@ $f:ident, $job:expr, $($t:ty)+) => { $( $f::<$t>($job)?; )+ };
}
pub(super) use by_every_type;

/// The elements that PE `pe` starts with.
pub(super) fn of_pe<T: Sample>(pe: usize, len: usize) -> Vec<T> {
    (0..len).map(|i| T::sample(pe * 16 + i + 1)).collect()
}

const LEN: usize = 7;

fn puts<T: Sample>(job: &ShmemContext) -> Result<(), Error> {
    let (me, n) = (job.my_pe(), job.n_pes());
    let from = (me + n - 1) % n;
    let open = job.barrier_all(local(job, &[T::sample(0); LEN])?)?;
    let src = plain(job, &of_pe::<T>(me, LEN))?;
    let zero = T::sample(0);

    // All of it; then parts, from spans; then single elements; then strided.
    job.put(&src, &open, job.next())?;
    let got = job.barrier_all(open)?;
    assert_eq!(got.to_vec()?, of_pe::<T>(from, LEN));

    let open = job.barrier_all(local(job, &[zero; LEN])?)?;
    let (low, high) = src.as_span().split_at(3)?;
    job.put(&low, &open.slice(4..)?, job.next())?;
    job.put(&high.slice(..2)?, &open.slice(1..3)?, job.next())?;
    job.put(&src.as_span().slice(3..3)?, &open.slice(7..)?, job.next())?;
    let there = of_pe::<T>(from, LEN);
    let expected = [zero, there[3], there[4], zero, there[0], there[1], there[2]];
    assert_eq!(job.barrier_all(open)?.to_vec()?, expected);

    let open = job.barrier_all(local(job, &[zero; LEN])?)?;
    job.p(T::sample(me + 40), &open, 2, job.next())?;
    job.p(T::sample(me + 50), &open.slice(4..)?, 2, job.next())?;
    let mut expected = [zero; LEN];
    (expected[2], expected[6]) = (T::sample(from + 40), T::sample(from + 50));
    assert_eq!(job.barrier_all(open)?.to_vec()?, expected);

    let open = job.barrier_all(local(job, &[zero; LEN])?)?;
    job.put_strided((&src, 3), (&open.slice(1..6)?, 2), job.next())?;
    assert_eq!(job.barrier_all(open)?.to_vec()?, [zero, there[0], zero, there[3], zero, there[6], zero]);
    Ok(())
}

fn gets<T: Sample>(job: &ShmemContext) -> Result<(), Error> {
    let (me, n) = (job.my_pe(), job.n_pes());
    let there = of_pe::<T>((me + 1) % n, LEN);
    let zero = T::sample(0);
    let open = job.barrier_all(local(job, &of_pe::<T>(me, LEN))?)?;
    let mut mine = plain(job, &[zero; LEN])?;
    let mut symmetric = local(job, &[zero; LEN])?;

    job.get(&open, &mut mine, job.next())?;
    assert_eq!(mine.to_vec()?, there);
    job.get(&open.slice(2..5)?, &mut mine.as_span_mut().slice(..3)?, job.next())?;
    assert_eq!(mine.to_vec()?[..4], [there[2], there[3], there[4], there[3]]);
    job.get(&open, &mut symmetric, job.next())?;
    assert_eq!(symmetric.to_vec()?, there);
    job.get_strided((&open, 2), (&mut mine.as_span_mut().slice(..4)?, 1), job.next())?;
    assert_eq!(mine.to_vec()?[..4], [there[0], there[2], there[4], there[6]]);
    assert_eq!(job.g::<T, _>(&open, 6, job.next())?, there[6]);
    assert_eq!(job.g::<T, _>(&open.slice(3..)?, 1, job.next())?, there[4]);
    // Nobody changes it before all have read it.
    assert_eq!(job.barrier_all(open)?.to_vec()?, of_pe::<T>(me, LEN));
    Ok(())
}

#[test]
fn puts_by_every_type() {
    everywhere(|job| {
        by_every_type!(puts(job));
        Ok(())
    });
}

#[test]
fn gets_by_every_type() {
    everywhere(|job| {
        by_every_type!(gets(job));
        Ok(())
    });
}

/// Sources and destinations of all kinds that the device reads and writes.
#[test]
fn operands_of_all_kinds() {
    everywhere(|job| {
        let mut open = job.barrier_all(job.create_buffer_zeroed::<u32>(2)?)?;
        let me = job.my_pe() as u32;
        let from = job.previous().rank() as u32;
        let mut values = plain(job, &[me, 1])?;
        job.put(&values.as_span_mut(), &open, job.next())?;
        let mut got = job.barrier_all(open)?;
        assert_eq!(got.to_vec()?, [from, 1]);

        let shared = plain(job, &[me, 2])?.into_shared()?;
        open = job.barrier_all(got)?;
        job.put(&shared, &open, job.next())?;
        drop(shared); // it stays as long as the put needs it
        got = job.barrier_all(open)?;
        assert_eq!(got.to_vec()?, [from, 2]);

        let symmetric = local(job, &[me, 3])?;
        open = job.barrier_all(got)?;
        job.put(&symmetric, &open.as_span(), job.next())?;
        drop(symmetric);
        got = job.barrier_all(open)?;
        assert_eq!(got.to_vec()?, [from, 3]);

        // A source that is dropped, or written again, right behind the put: the stream keeps their order.
        open = job.barrier_all(got)?;
        let mut source = plain(job, &[me, 4])?;
        job.put(&source, &open, job.next())?;
        source.enqueue_fill(99)?;
        drop(source);
        assert_eq!(job.barrier_all(open)?.to_vec()?, [from, 4]);
        Ok(())
    });
}

/// What does not fit is an error at the call, and nothing is enqueued.
#[test]
fn what_does_not_fit_is_refused() {
    for device in devices() {
        shmem::launch_on(escrow::Dyn, device, 2, |job| {
            let open = job.barrier_all(job.create_buffer_zeroed::<u16>(4)?)?;
            let to = job.next();
            let three = job.context().enqueue_create_buffer_zeroed::<u16>(3)?;
            let mut five = job.context().enqueue_create_buffer_zeroed::<u16>(5)?;
            assert!(matches!(job.put(&three, &open, to), Err(Error::Length { dst: 4, src: 3, .. })));
            assert!(matches!(job.get(&open, &mut five, to), Err(Error::Length { dst: 5, src: 4, .. })));
            assert!(matches!(job.put(&three, &open.slice(4..)?, to), Err(Error::Length { dst: 0, src: 3, .. })));
            assert!(matches!(job.p(1u16, &open, 4, to), Err(Error::Range { start: 4, end: 5, len: 4 })));
            assert!(matches!(job.p(1u16, &open, usize::MAX, to), Err(Error::Range { .. })));
            assert!(matches!(job.g::<u16, _>(&open.slice(2..)?, 2, to), Err(Error::Range { len: 2, .. })));
            assert!(matches!(job.put_strided((&three, 0), (&open, 1), to), Err(Error::Refused { .. })));
            assert!(matches!(job.put_strided((&three, 1), (&open, 0), to), Err(Error::Refused { .. })));
            assert!(matches!(job.put_strided((&three, 1), (&open, 1), to), Err(Error::Length { dst: 4, src: 3, .. })));
            assert!(matches!(job.get_strided((&open, 1), (&mut five, 0), to), Err(Error::Refused { .. })));
            assert!(matches!(job.get_strided((&open, 1), (&mut five, 1), to), Err(Error::Length { .. })));
            assert!(matches!(open.slice(3..5), Err(Error::Range { start: 3, end: 5, len: 4 })));
            assert!(matches!(open.as_span().split_at(5), Err(Error::Range { .. })));
            assert!(matches!(open.as_span().chunks(0).map(|_| ()), Err(Error::EmptyChunk)));
            assert!(matches!(job.pe(2), Err(Error::NoPe { pe: 2, n_pes: 2 })));
            // A stride past the end takes the first element.
            job.put_strided((&three, usize::MAX), (&open, usize::MAX), to)?;
            assert_eq!(job.barrier_all(open)?.to_vec()?, [0; 4]);
            Ok(())
        })
        .unwrap();
    }
}

/// Memory of another stream is refused, whatever its tag.
///
/// Broken on purpose: in `region.rs`, `admit` compares devices only.
#[test]
fn other_streams_are_refused() {
    everywhere(|job| {
        let open = job.barrier_all(job.create_buffer_zeroed::<u8>(2)?)?;
        let other = job.context().fork()?;
        let mut foreign = other.enqueue_create_buffer_zeroed::<u8>(2)?;
        assert!(matches!(job.put(&foreign, &open, job.me()), Err(Error::WrongStream { .. })));
        assert!(matches!(job.get(&open, &mut foreign, job.me()), Err(Error::WrongStream { .. })));
        assert!(matches!(job.put_strided((&foreign, 1), (&open, 1), job.me()), Err(Error::WrongStream { .. })));
        assert!(matches!(job.get_strided((&open, 1), (&mut foreign, 1), job.me()), Err(Error::WrongStream { .. })));
        let moved = other.handoff(foreign, job.context())?;
        job.put(&moved, &open, job.me())?;
        job.barrier_all(open)?;
        Ok(())
    });
}

/// Zero lengths do everywhere what they should: nothing.
#[test]
fn zero_lengths() {
    everywhere(|job| {
        let open = job.barrier_all(job.create_buffer_zeroed::<f64>(0)?)?;
        let none = job.context().enqueue_create_buffer_zeroed::<f64>(0)?;
        let mut empty = job.create_buffer_zeroed::<f64>(0)?;
        job.put(&none, &open, job.next())?;
        job.get(&open, &mut empty, job.next())?;
        job.put_strided((&none, 2), (&open, 3), job.next())?;
        assert!(matches!(job.p(1.0, &open, 0, job.me()), Err(Error::Range { len: 0, .. })));
        let team = job.world();
        let other = job.create_buffer_zeroed::<f64>(0)?;
        team.broadcast(job.pe(0)?, &other, &mut empty)?;
        team.fcollect(&other, &mut empty)?;
        team.alltoall(&other, &mut empty)?;
        team.reduce(shmem::Sum, &other, &mut empty)?;
        team.reduce_scatter(shmem::Max, &other, &mut empty)?;
        assert!(job.barrier_all(open)?.to_vec()?.is_empty());
        assert!(empty.to_vec()?.is_empty());
        Ok(())
    });
}

/// Large copies, of lengths and offsets that no vector is a multiple of.
#[test]
fn large_moves() {
    let len = 300_001;
    shmem::launch(2, |job| {
        let mut values: Vec<u8> = (0..len).map(|i| (i * 7 + job.my_pe()) as u8).collect();
        let src = plain(job, &values)?;
        let open = job.barrier_all(job.create_buffer_zeroed::<u8>(len + 3)?)?;
        job.put(&src, &open.slice(3..)?, job.next())?;
        let got = job.barrier_all(open)?.to_vec()?;
        values.iter_mut().enumerate().for_each(|(i, value)| *value = (i * 7 + job.next().rank()) as u8);
        assert_eq!(got[..3], [0; 3]);
        assert!(got[3..] == values[..], "the bytes that came are others");
        Ok(())
    })
    .unwrap();
}
