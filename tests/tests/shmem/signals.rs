//! Signals and atomic operations.

use std::fmt::Debug;

use escrow::shmem::{Add, Cmp, Set};
use escrow::{AtomicElem, Error, ShmemContext, shmem};

use super::{devices, everywhere, plain};

#[test]
fn all_comparisons() {
    everywhere(|job| {
        let add = job.create_signal(Add)?;
        let set = job.create_signal(Set)?;
        assert_eq!((add.fetch()?, set.fetch()?), (0, 0));
        for (cmp, value) in [(Cmp::Eq, 0), (Cmp::Ge, 0), (Cmp::Le, 0), (Cmp::Lt, 1), (Cmp::Le, u64::MAX), (Cmp::Ne, 1)]
        {
            add.wait_until(cmp, value)?;
        }
        job.barrier_all(())?;
        job.iter().try_for_each(|pe| add.add(pe, 3))?;
        set.set(job.next(), u64::MAX)?;
        let n = job.n_pes() as u64;
        for (cmp, value) in [(Cmp::Eq, 3 * n), (Cmp::Ge, 3 * n), (Cmp::Le, 3 * n), (Cmp::Gt, 3 * n - 1), (Cmp::Ne, 0)] {
            add.wait_until(cmp, value)?;
        }
        set.wait_until(Cmp::Gt, 5)?;
        assert_eq!((add.fetch()?, set.fetch()?), (3 * n, u64::MAX));
        // Sums wrap around.
        job.barrier_all(())?;
        add.add(job.next(), u64::MAX)?;
        add.wait_until(Cmp::Lt, 3 * n)?;
        assert_eq!(add.fetch()?, 3 * n - 1);
        Ok(())
    });
}

/// The data is there when the signal is, and what is behind the wait sees it.
///
/// Broken on purpose: in `signal.rs`, `put_signal` sends the signal before the data.
#[test]
fn data_comes_before_its_signal() {
    everywhere(|job| {
        let (me, n) = (job.my_pe() as u32, job.n_pes() as u32);
        let open = job.barrier_all(job.create_buffer_zeroed::<u32>(1000)?)?;
        let (ready, count) = (job.create_signal(Set)?, job.create_signal(Add)?);
        let mut mine = plain(job, &vec![me; 1000])?;
        let mut copy = job.context().enqueue_create_buffer_zeroed::<u32>(1000)?;
        for round in 1..=20 {
            mine.enqueue_fill(round * 100 + me)?;
            if round % 2 == 0 {
                job.put_signal(&mine, &open, job.next(), &ready, u64::from(round))?;
                ready.wait_until(Cmp::Eq, u64::from(round))?;
            } else {
                job.put(&mine, &open, job.next())?;
                job.fence()?;
                count.add(job.next(), 1)?;
                count.wait_until(Cmp::Ge, u64::from(round).div_ceil(2))?;
            }
            job.get(&open, &mut copy, job.me())?;
            let from = (me + n - 1) % n;
            assert_eq!(copy.to_vec()?, vec![round * 100 + from; 1000]);
            job.barrier_all(())?;
        }
        // No elements, and a signal all the same.
        let none = job.context().enqueue_create_buffer_zeroed::<u32>(0)?;
        job.put_signal(&none, &open.slice(..0)?, job.next(), &ready, 7)?;
        ready.wait_until(Cmp::Eq, 7)
    });
}

/// A signal that this PE has dropped is still there for those who send to it.
///
/// That it is not freed is shown where it can be seen, in `heap::what_one_pe_holds_stays`; here, that its sender's words go
/// to nobody else.
#[test]
fn a_dropped_signal_still_receives() {
    for device in devices() {
        shmem::launch_on(escrow::Dyn, device, 2, |job| {
            let early = job.create_signal(Add)?;
            if job.my_pe() == 0 {
                drop(early);
                for _ in 0..4 {
                    // Memory of the same size, which would take its place.
                    let other = job.create_signal(Set)?;
                    assert_eq!(other.fetch()?, 0);
                    job.reclaim()?;
                    assert_eq!(other.fetch()?, 0, "somebody else's signal");
                }
            } else {
                for _ in 0..4 {
                    let other = job.create_signal(Set)?;
                    early.add(job.pe(0)?, 1)?;
                    assert_eq!(other.fetch()?, 0);
                    job.reclaim()?;
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

fn atomics<T: AtomicElem + PartialEq + Debug>(job: &ShmemContext, of: fn(u64) -> T) -> Result<(), Error> {
    let n = job.n_pes() as u64;
    let zero = job.pe(0)?;
    let open = job.barrier_all(job.create_buffer::<T>(3)?.enqueue_fill(of(0b1100))?)?;
    let on = job.atomics()?;
    on.add(of(5), &open, 0, zero)?;
    on.or(of(0b0011), &open, 1, zero)?;
    on.xor(of(u64::MAX), &open, 2, zero)?;
    let open = job.barrier_all(job.barrier_all(open)?)?;
    assert_eq!(on.fetch::<T, _>(&open, 0, zero)?, of(0b1100 + 5 * n));
    assert_eq!(on.fetch::<T, _>(&open, 1, zero)?, of(0b1111));
    assert_eq!(on.fetch::<T, _>(&open.slice(2..)?, 0, zero)?, of(if n.is_multiple_of(2) { 0b1100 } else { !0b1100 }));
    let open = job.barrier_all(job.barrier_all(open)?)?;
    // What fetches returns what was; each PE on its own neighbour.
    let to = job.next();
    on.set(of(10), &open, 1, to)?;
    assert_eq!(on.swap(of(6), &open, 1, to)?, of(10));
    assert_eq!(on.fetch_add(of(1), &open, 1, to)?, of(6));
    assert_eq!(on.fetch_or(of(8), &open, 1, to)?, of(7));
    assert_eq!(on.fetch_and(of(12), &open, 1, to)?, of(15));
    on.and(of(8), &open, 1, to)?;
    assert_eq!(on.fetch_xor(of(1), &open, 1, to)?, of(8));
    assert_eq!(on.compare_swap(of(8), of(1), &open, 1, to)?, of(9));
    assert_eq!(on.compare_swap(of(9), of(2), &open, 1, to)?, of(9));
    assert_eq!(on.fetch_add(of(u64::MAX), &open, 1, to)?, of(2));
    assert!(matches!(on.add(of(1), &open, 3, to), Err(Error::Range { .. })));
    assert_eq!(job.barrier_all(open)?.to_vec()?[1], of(1));
    Ok(())
}

#[test]
fn atomics_of_every_type() {
    everywhere(|job| {
        atomics::<u32>(job, |n| n as u32)?;
        atomics::<i32>(job, |n| n as i32)?;
        atomics::<u64>(job, |n| n)?;
        atomics::<i64>(job, |n| n as i64)
    });
}

/// Nothing is lost when all PEs work on one element.
///
/// Broken on purpose: in `local/mod.rs`, `atomic` adds by a load and a store.
#[test]
fn atomics_lose_nothing() {
    let sums = shmem::launch(4, |job| {
        let open = job.barrier_all(job.create_buffer_zeroed::<u64>(1)?)?;
        let on = job.atomics()?;
        (0..3000).try_for_each(|_| on.add(1u64, &open, 0, job.pe(0)?))?;
        Ok(job.barrier_all(open)?.to_vec()?[0])
    });
    assert_eq!(sums.unwrap(), [12_000, 0, 0, 0]);
}

/// R19: what several PEs do to the same memory at the same time gives mixed bytes, and no more than that.
#[test]
fn conflicting_accesses_mix_bytes() {
    shmem::launch(4, |job| {
        let open = job.barrier_all(job.create_buffer_zeroed::<u64>(512)?)?;
        let mine = plain(job, &vec![0x0101_0101_0101_0101 * (job.my_pe() as u64 + 1); 511])?;
        let mut seen = job.context().enqueue_create_buffer_zeroed::<u64>(511)?;
        for round in 0..200 {
            job.put(&mine, &open.slice(round % 2..511 + round % 2)?, job.pe(0)?)?;
            job.atomics()?.xor(1 << 63, &open, round, job.pe(0)?)?;
            job.get(&open.slice(..511)?, &mut seen, job.pe(0)?)?;
        }
        assert!(seen.to_vec()?.iter().flat_map(|word| word.to_ne_bytes()).all(|byte| byte & 0x7F <= 4));
        job.barrier_all(open)?;
        Ok(())
    })
    .unwrap();
}

/// A wait ends with what it saw, whatever the signal is by the time that it says so.
#[test]
fn a_signal_may_change_while_a_wait_for_it_ends() -> Result<(), Error> {
    let rounds = if cfg!(miri) { 5 } else { 20_000 };
    shmem::launch(2, |job| {
        let (flips, ends) = (job.create_signal(Set)?, job.create_signal(Set)?);
        if job.my_pe() == 0 {
            for round in 1..=rounds {
                flips.wait_until(Cmp::Ne, 0)?;
                ends.set(job.next(), round)?;
            }
        } else {
            while ends.fetch()? < rounds {
                flips.set(job.next(), 1)?;
                flips.set(job.next(), 0)?;
            }
        }
        job.barrier_all(())
    })?;
    Ok(())
}
