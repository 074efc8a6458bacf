//! Barriers, and what they flip.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use escrow::{Exposed, ShmemBuffer, shmem};
use escrow_tests::on_worker;

use super::{everywhere, local, plain};

#[test]
fn values_of_all_kinds() {
    everywhere(|job| {
        let buffer = |value: u32| local(job, &[value]);
        job.barrier_all(())?;
        let (a, b): (Exposed<_>, Exposed<_>) = job.barrier_all((buffer(1)?, job.create_buffer_zeroed::<f64>(2)?))?;
        let (a, (c, d)) = job.barrier_all((a, (buffer(3)?, buffer(4)?)))?;
        assert_eq!(a.to_vec()?, [1]);
        let [b2, c2] = [job.barrier_all(b)?.to_vec()?, vec![0.0; 2]];
        assert_eq!(b2, c2);
        let list = job.barrier_all(vec![c, d])?;
        let mut values = Vec::new();
        for local in list {
            values.extend(local.to_vec()?);
        }
        assert_eq!(values, [3, 4]);
        let array = job.barrier_all([buffer(5)?, buffer(6)?])?;
        let [e, f] = job.barrier_all(array)?;
        assert_eq!((e.to_vec()?, f.to_vec()?), (vec![5], vec![6]));
        let none: Vec<Exposed<ShmemBuffer<'_, u8>>> = job.barrier_all(Vec::<ShmemBuffer<'_, u8>>::new())?;
        assert!(none.is_empty());
        let eight = (buffer(0)?, buffer(1)?, buffer(2)?, buffer(3)?, buffer(4)?, buffer(5)?, buffer(6)?, buffer(7)?);
        let eight = job.barrier_all(job.barrier_all(eight)?)?;
        assert_eq!(eight.7.to_vec()?, [7]);
        Ok(())
    });
}

/// 17: with two buffers one barrier a step is enough.
///
/// Broken on purpose: in `wire.rs`, `agree` does not wait; or waits for one word a pair for all calls.
#[test]
fn one_barrier_a_step() {
    everywhere(|job| {
        let (me, n) = (job.my_pe() as u32, job.n_pes() as u32);
        let mut halo = job.create_buffer_zeroed::<u32>(64)?;
        let mut open = job.barrier_all(job.create_buffer_zeroed::<u32>(64)?)?;
        let mut src = plain(job, &[0u32; 64])?;
        for step in 0..60 {
            src.enqueue_fill(step * 10 + me)?;
            job.put(&src, &open, job.next())?;
            (open, halo) = job.barrier_all((halo, open))?;
            if step % 7 == 0 {
                assert_eq!(halo.to_vec()?, [step * 10 + (me + n - 1) % n; 64]);
            }
            halo.enqueue_fill(u32::MAX)?;
        }
        job.barrier_all(open)?;
        Ok(())
    });
}

#[test]
fn fields_are_swapped() {
    everywhere(|job| {
        let (me, n) = (job.my_pe() as u32, job.n_pes() as u32);
        let mut halo = job.create_buffer_zeroed::<u32>(2)?;
        let mut open = job.barrier_all(job.create_buffer_zeroed::<u32>(3)?)?;
        for step in 0..9u32 {
            job.p(step * 10 + me, &open, 1, job.next())?;
            job.barrier_swap(&mut halo, &mut open)?;
            assert_eq!((halo.len(), open.len()), if step % 2 == 0 { (3, 2) } else { (2, 3) });
            assert_eq!(halo.to_vec()?[1], step * 10 + (me + n - 1) % n);
        }
        Ok(())
    });
}

/// 17, R23: a barrier waits for the puts of every PE, also of one that is late.
///
/// Broken on purpose: in `wire.rs`, `agree` waits for one PE only.
#[test]
fn a_barrier_waits_for_the_last_put() {
    for late in 0..3 {
        let (open_gate, gate) = channel::<()>();
        let (open_gate, gate) = (Mutex::new(Some(open_gate)), Mutex::new(Some(gate)));
        shmem::launch(3, |job| {
            let open = job.barrier_all(job.create_buffer_zeroed::<u32>(3)?)?;
            if job.my_pe() == late {
                // Its stream stands still before the put until another PE's thread says so.
                let gate = gate.lock().unwrap().take().unwrap();
                on_worker(job.context(), move || {
                    let _ = gate.recv();
                })?;
            }
            for pe in job.iter() {
                job.p(job.my_pe() as u32 + 1, &open, job.my_pe(), pe)?;
            }
            let local = job.barrier_all(open)?;
            if job.my_pe() == (late + 1) % 3 {
                for _ in 0..2000 {
                    std::thread::yield_now();
                }
                drop(open_gate.lock().unwrap().take());
            }
            assert_eq!(local.to_vec()?, [1, 2, 3]);
            Ok(())
        })
        .unwrap();
    }
}

/// The unsafe ways out, for programs that synchronize by signals.
#[test]
fn phases_by_signals() {
    everywhere(|job| {
        let (me, n) = (job.my_pe() as u32, job.n_pes() as u32);
        let ready = job.create_signal(shmem::Add)?;
        let mut open = job.barrier_all(job.create_buffer_zeroed::<u32>(8)?)?;
        let mut src = plain(job, &[0u32; 8])?;
        for step in 1..=10 {
            src.enqueue_fill(step * 10 + me)?;
            job.put_signal(&src, &open, job.next(), &ready, 1)?;
            ready.wait_until(shmem::Cmp::Ge, u64::from(step))?;
            // SAFETY: the one put into this copy has come, and the next one follows the barrier below.
            let local = unsafe { open.assume_local() };
            assert_eq!(local.to_vec()?, [step * 10 + (me + n - 1) % n; 8]);
            job.barrier_all(())?;
            // SAFETY: all PEs are behind their reads (the barrier).
            open = unsafe { local.assume_exposed() };
        }
        Ok(())
    });
}
