//! Puts, gets, signals and atomics.

use escrow::shmem::{Add, Cmp, Set};
use escrow::{AtomicElem, Error, ShmemContext};

use super::{Sample, for_every_type, values};

/// Whole buffers and parts, to every PE and from every PE, of every element type.
pub(crate) fn puts_and_gets(job: &ShmemContext) -> Result<(), Error> {
    for_every_type!(put_and_get(job));
    Ok(())
}

fn put_and_get<T: Sample>(job: &ShmemContext) -> Result<(), Error> {
    const LEN: usize = 37;
    let (me, pes) = (job.my_pe(), job.n_pes());
    // A part for each PE in everybody's table.
    let table = job.create_buffer::<T>(LEN * pes)?.copy_from_slice(&values(1000, LEN * pes))?;
    let mine = job.context().enqueue_create_buffer::<T>(LEN)?.copy_from_slice(&values(me, LEN))?;
    let open = job.barrier_all(table)?;
    for pe in job.iter() {
        job.put(&mine, &open.slice(me * LEN..(me + 1) * LEN)?, pe)?;
    }
    let table = job.barrier_all(open)?;
    let expected: Vec<T> = (0..pes).flat_map(|pe| values(pe, LEN)).collect();
    assert_eq!(table.to_vec()?, expected);

    // The same by gets, from symmetric memory to plain memory and to a part of it.
    let own = job.create_buffer::<T>(LEN)?.copy_from_slice(&values(me + 7, LEN))?;
    let own = job.barrier_all(own)?;
    let mut all = job.context().enqueue_create_buffer_zeroed::<T>(LEN * pes)?;
    for (pe, mut part) in job.iter().zip(all.as_span_mut().chunks(LEN)?) {
        job.get(&own, &mut part, pe)?;
    }
    let own = job.barrier_all(own)?;
    let expected: Vec<T> = (0..pes).flat_map(|pe| values(pe + 7, LEN)).collect();
    assert_eq!(all.to_vec()?, expected);
    assert_eq!(own.to_vec()?, values(me + 7, LEN));

    // From symmetric memory to symmetric memory, in the middle.
    let open = job.barrier_all(table)?;
    job.put(&own.as_span().slice(3..30)?, &open.slice(1..28)?, job.next())?;
    let table = job.barrier_all(open)?;
    assert_eq!(table.to_vec()?[1..28], values::<T>(job.previous().rank() + 7, LEN)[3..30]);
    Ok(())
}

/// Sizes around the places where copies change their way, at addresses that are not aligned.
pub(crate) fn large_and_odd_sizes(job: &ShmemContext) -> Result<(), Error> {
    const ALL: usize = (2 << 20) + 64;
    let mut mine = job.context().enqueue_create_buffer_zeroed::<u8>(ALL)?;
    mine.copy_from_slice(&(0..ALL).map(|at| (at * 7 + at / 251 + job.my_pe()) as u8).collect::<Vec<_>>())?;
    let mut table = job.create_buffer_zeroed::<u8>(ALL)?;
    for (from, to, len) in
        [(0, 0, 1), (1, 3, 7), (5, 2, 64), (3, 61, 4097), (0, 0, 32 << 10), (7, 9, (128 << 10) + 1), (1, 0, 2 << 20)]
    {
        table.enqueue_fill(0xEE)?;
        let open = job.barrier_all(table)?;
        job.put(&mine.as_span().slice(from..from + len)?, &open.slice(to..to + len)?, job.next())?;
        table = job.barrier_all(open)?;
        let (got, sender) = (table.to_vec()?, job.previous().rank());
        assert!(got[to..to + len].iter().zip(from..).all(|(&got, at)| got == (at * 7 + at / 251 + sender) as u8));
        assert!(got[..to].iter().chain(&got[to + len..]).all(|&byte| byte == 0xEE), "bytes beside the range changed");
    }
    Ok(())
}

/// `p` and `g`.
pub(crate) fn elements(job: &ShmemContext) -> Result<(), Error> {
    for_every_type!(element(job));
    Ok(())
}

fn element<T: Sample>(job: &ShmemContext) -> Result<(), Error> {
    let (me, pes) = (job.my_pe(), job.n_pes());
    let open = job.barrier_all(job.create_buffer_zeroed::<T>(pes + 1)?)?;
    for pe in job.iter() {
        job.p(T::of(me * 10 + pe.rank()), &open, me, pe)?;
    }
    let table = job.barrier_all(open)?;
    let expected: Vec<T> = (0..pes).map(|pe| T::of(pe * 10 + me)).collect();
    assert_eq!(table.to_vec()?[..pes], expected);
    let open = job.barrier_all(table)?;
    for pe in job.iter() {
        for index in 0..pes {
            assert_eq!(job.g::<T, _>(&open, index, pe)?, T::of(index * 10 + pe.rank()));
        }
    }
    job.barrier_all(open)?;
    Ok(())
}

/// Strided puts and gets.
pub(crate) fn strides(job: &ShmemContext) -> Result<(), Error> {
    for_every_type!(strided(job));
    Ok(())
}

fn strided<T: Sample>(job: &ShmemContext) -> Result<(), Error> {
    let (me, previous, next) = (job.my_pe(), job.previous().rank(), job.next().rank());
    let mine = job.context().enqueue_create_buffer::<T>(10)?.copy_from_slice(&values(me, 10))?;
    let zero = job.create_buffer_zeroed::<T>(10)?;
    let zeros = zero.to_vec()?;
    let open = job.barrier_all(zero)?;
    // Elements 0, 3, 6, 9 to the places 0, 2, 4, 6.
    job.put_strided((&mine, 3), (&open.slice(..8)?, 2), job.next())?;
    let table = job.barrier_all(open)?;
    let sent = values::<T>(previous, 10);
    let mut expected = zeros.clone();
    (0..4).for_each(|nth| expected[nth * 2] = sent[nth * 3]);
    assert_eq!(table.to_vec()?, expected);

    let own = job.barrier_all(job.create_buffer::<T>(10)?.copy_from_slice(&values(me + 3, 10))?)?;
    let mut got = job.context().enqueue_create_buffer_zeroed::<T>(10)?;
    job.get_strided((&own, 5), (&mut got.as_span_mut().slice(..4)?, 3), job.next())?;
    job.barrier_all(own)?;
    let there = values::<T>(next + 3, 10);
    let mut expected = zeros;
    (expected[0], expected[3]) = (there[0], there[5]);
    assert_eq!(got.to_vec()?, expected);
    Ok(())
}

/// Data before its signal, over and over.
pub(crate) fn put_with_signal(job: &ShmemContext) -> Result<(), Error> {
    const LEN: usize = 300;
    let previous = job.previous().rank() as u64;
    let mut open = job.barrier_all(job.create_buffer_zeroed::<u64>(LEN)?)?;
    let (ready, read) = (job.create_signal(Set)?, job.create_signal(Add)?);
    let mut mine = job.context().enqueue_create_buffer_zeroed::<u64>(LEN)?;
    for step in 1..=50u64 {
        mine.enqueue_fill(step * 100 + job.my_pe() as u64)?;
        read.wait_until(Cmp::Ge, step - 1)?; // what was there has been read
        job.put_signal(&mine, &open, job.next(), &ready, step)?;
        ready.wait_until(Cmp::Ge, step)?;
        // SAFETY: the one put of this step has arrived before its signal; the next one waits for `read`.
        let local = unsafe { open.assume_local() };
        assert_eq!(local.to_vec()?, [step * 100 + previous; LEN]);
        // SAFETY: nobody reads the copy any more before the next signal.
        open = unsafe { local.assume_exposed() };
        read.add(job.previous(), 1)?;
    }
    job.barrier_all(open)?;

    // An adding signal counts the puts of all.
    let open = job.barrier_all(job.create_buffer_zeroed::<u8>(job.n_pes())?)?;
    let arrived = job.create_signal(Add)?;
    let one = job.context().enqueue_create_buffer::<u8>(1)?.enqueue_fill(job.my_pe() as u8 + 1)?;
    for pe in job.iter() {
        job.put_signal(&one, &open.slice(job.my_pe()..=job.my_pe())?, pe, &arrived, 3)?;
    }
    arrived.wait_until(Cmp::Eq, 3 * job.n_pes() as u64)?;
    // SAFETY: one put of each PE has arrived before its signal, and no other follows.
    let local = unsafe { open.assume_local() };
    assert!(local.to_vec()?.into_iter().eq(1..=job.n_pes() as u8));
    Ok(())
}

/// Every kind of signal by every comparison.
pub(crate) fn signals(job: &ShmemContext) -> Result<(), Error> {
    let set = job.create_signal(Set)?;
    let add = job.create_signal(Add)?;
    assert_eq!((set.fetch()?, add.fetch()?), (0, 0));
    job.barrier_all(())?;
    set.set(job.next(), u64::MAX - 1)?;
    set.wait_until(Cmp::Ne, 0)?;
    set.wait_until(Cmp::Eq, u64::MAX - 1)?;
    set.wait_until(Cmp::Ge, u64::MAX - 1)?;
    set.wait_until(Cmp::Gt, u64::MAX - 2)?;
    set.wait_until(Cmp::Le, u64::MAX - 1)?;
    set.wait_until(Cmp::Lt, u64::MAX)?;
    assert_eq!(set.fetch()?, u64::MAX - 1);
    for pe in job.iter() {
        add.add(pe, 1 << (8 * job.my_pe()))?;
    }
    let sum = (0..job.n_pes()).map(|pe| 1u64 << (8 * pe)).sum();
    add.wait_until(Cmp::Ge, sum)?;
    assert_eq!(add.fetch()?, sum);
    job.barrier_all(())?;
    add.add(job.me(), sum.wrapping_neg())?;
    add.wait_until(Cmp::Eq, 0)?; // it wraps around
    add.wait_until(Cmp::Lt, 1)?;
    add.wait_until(Cmp::Le, 0)
}

/// Every atomic operation on every element type that has them.
pub(crate) fn atomics(job: &ShmemContext) -> Result<(), Error> {
    atomic(job, [0xF0i32, -9, 5, 0x3C, 0x0F, 0x55, 77])?;
    atomic(job, [0xF0u32, u32::MAX - 8, 5, 0x3C, 0x0F, 0x55, 77])?;
    atomic(job, [0xF0i64, i64::MIN, 5, 0x3C, 0x0F, 0x55, 77])?;
    atomic(job, [0xF0u64, u64::MAX - 8, 5, 0x3C, 0x0F, 0x55, 77])
}

fn atomic<T>(job: &ShmemContext, [start, set, add, and, or, xor, swap]: [T; 7]) -> Result<(), Error>
where
    T: Sample + AtomicElem + Wrapping,
{
    const TIMES: usize = 200;
    let atomics = job.atomics()?;
    // One PE's element, changed by its neighbour alone.
    let open = job.barrier_all(job.create_buffer::<T>(3)?.enqueue_fill(start)?)?;
    let pe = job.next();
    assert_eq!(atomics.fetch::<T, _>(&open, 1, pe)?, start);
    atomics.set(set, &open, 1, pe)?;
    assert_eq!(atomics.fetch_add(add, &open, 1, pe)?, set);
    assert_eq!(atomics.fetch_and(and, &open, 1, pe)?, set.plus(add));
    let mut value = set.plus(add).bits(and, '&');
    assert_eq!(atomics.fetch_or(or, &open, 1, pe)?, value);
    value = value.bits(or, '|');
    assert_eq!(atomics.fetch_xor(xor, &open, 1, pe)?, value);
    value = value.bits(xor, '^');
    assert_eq!(atomics.swap(swap, &open, 1, pe)?, value);
    assert_eq!(atomics.compare_swap(start, add, &open, 1, pe)?, swap, "it is not `start`, so nothing changes");
    assert_eq!(atomics.compare_swap(swap, add, &open, 1, pe)?, swap);
    atomics.add(add, &open, 1, pe)?;
    atomics.or(or, &open, 1, pe)?;
    atomics.xor(xor, &open, 1, pe)?;
    atomics.and(and, &open, 1, pe)?;
    value = add.plus(add).bits(or, '|').bits(xor, '^').bits(and, '&');
    assert_eq!(atomics.fetch::<T, _>(&open, 1, pe)?, value);
    let table = job.barrier_all(open)?;
    assert_eq!(table.to_vec()?, [start, value, start], "the elements beside it are as they were");

    // One element of one PE, changed by all at once.
    let counter = job.barrier_all(job.create_buffer_zeroed::<T>(1)?)?;
    let last = job.pe(job.n_pes() - 1)?;
    let one = T::of(0); // 1
    for _ in 0..TIMES {
        atomics.add(one, &counter, 0, last)?;
    }
    let mut before = None;
    for _ in 0..10 {
        let old = atomics.fetch_add(one, &counter, 0, last)?;
        assert_ne!(before.replace(old), Some(old), "each value is seen once");
    }
    let counter = job.barrier_all(counter)?;
    if job.me() == last {
        let ones = (0..job.n_pes() * (TIMES + 10)).fold(T::from_zero(), |sum, _| sum.plus(one));
        assert_eq!(counter.to_vec()?, [ones]);
    }
    Ok(())
}

pub(crate) trait Wrapping: Copy {
    fn from_zero() -> Self;
    fn plus(self, other: Self) -> Self;
    fn bits(self, other: Self, op: char) -> Self;
}

macro_rules! wrapping {
    ($($t:ty),+) => { $(
        impl Wrapping for $t {
            fn from_zero() -> $t {
                0
            }
            fn plus(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            fn bits(self, other: $t, op: char) -> $t {
                match op {
                    '&' => self & other,
                    '|' => self | other,
                    _ => self ^ other,
                }
            }
        }
    )+ };
}
wrapping!(i32, u32, i64, u64);

/// Fence and quiet between puts to one place.
pub(crate) fn order(job: &ShmemContext) -> Result<(), Error> {
    let open = job.barrier_all(job.create_buffer_zeroed::<u32>(2)?)?;
    for step in 1..=100u32 {
        job.p(step, &open, 0, job.next())?;
        job.fence()?;
        job.p(step, &open, 1, job.next())?;
        job.quiet()?;
    }
    let table = job.barrier_all(open)?;
    assert_eq!(table.to_vec()?, [100, 100]);
    Ok(())
}
