//! Invariant 16: what is dropped is queued, and freed when all PEs agree that they have dropped it.

use std::mem;

use escrow::shmem::{Add, Cmp, Set};
use escrow::{Device, Dyn, Error, Memory, ShmemBuffer, shmem};

use super::{devices, everywhere, in_time, local};

/// Addresses of this PE's copies, which are distinct while the memory lives.
fn addresses(buffers: &[ShmemBuffer<'_, u64>]) -> Vec<usize> {
    buffers.iter().map(|buffer| buffer.unsafe_ptr().as_ptr().addr()).collect()
}

/// 16: PEs drop in different orders, and new buffers take the slots; what is still held keeps its elements.
///
/// Broken on purpose: in `wire.rs`, `free_dropped` frees what one PE has dropped; or `create` takes the last slot.
#[test]
fn drop_orders_may_differ() {
    everywhere(|job| {
        let me = job.my_pe();
        for round in 0..6u64 {
            let kept = local(job, &[round; 100])?;
            let mut buffers: Vec<Option<_>> = Vec::new();
            for i in 0..6 {
                buffers.push(Some(local(job, &[i + me as u64; 100])?));
            }
            for i in 0..6 {
                // A rotation, and backwards on every other PE.
                let at = if me % 2 == 0 { (i + me) % 6 } else { 5 - (i + me) % 6 };
                buffers[at] = None;
                if i == 2 {
                    job.reclaim()?;
                }
            }
            let again: Vec<ShmemBuffer<'_, u64>> =
                (0..6).map(|i| local(job, &[i * 3; 100])).collect::<Result<_, Error>>()?;
            // One of each remote pair reads all of the other's.
            let open = job.barrier_all(again)?;
            for (buffer, i) in open.iter().zip(0..) {
                assert_eq!(job.g::<u64, _>(buffer, 99, job.next())?, i * 3);
            }
            job.barrier_all(open)?;
            assert_eq!(kept.to_vec()?, [round; 100]);
        }
        Ok(())
    });
}

/// 16: what one PE still holds is not freed, for it may be put to there; `reclaim` or not.
///
/// Broken on purpose: in `wire.rs`, `free_dropped` takes the union of what was dropped.
#[test]
fn what_one_pe_holds_stays() {
    for device in devices() {
        shmem::launch_on(Dyn, device, 3, |job| {
            let me = job.my_pe();
            let buffer = job.create_buffer_zeroed::<u64>(64)?;
            let open = job.barrier_all(buffer)?;
            let mut open = Some(open);
            if me != 0 {
                open = None; // exposed, and dropped
            }
            for round in 0..3u64 {
                job.reclaim()?;
                let others: Vec<_> = (0..4).map(|_| local(job, &[7u64; 64])).collect::<Result<_, Error>>()?;
                if let Some(open) = &open {
                    job.p(round, open, 3, job.pe(1)?)?; // to a PE that has dropped it
                    assert_eq!(job.g::<u64, _>(open, 3, job.pe(1)?)?, round);
                }
                for other in others {
                    assert_eq!(other.to_vec()?, [7; 64]);
                }
            }
            drop(open);
            job.reclaim()
        })
        .unwrap();
    }
}

/// 16: what was forgotten is never freed before the job's end, and that is all that comes of it.
#[test]
fn forgotten_values_stay() {
    everywhere(|job| {
        let kept = local(job, &[1u64; 32])?;
        let there = addresses(std::slice::from_ref(&kept));
        mem::forget(kept);
        mem::forget(job.create_signal(Set)?);
        let open = job.barrier_all(job.create_buffer_zeroed::<u64>(32)?)?;
        mem::forget(open);
        job.reclaim()?;
        for _ in 0..8 {
            let other = job.create_buffer_zeroed::<u64>(32)?;
            assert_ne!(addresses(std::slice::from_ref(&other)), there);
        }
        Ok(())
    });
}

/// Memory goes back: a loop that creates and drops does not grow.
///
/// Broken on purpose: in `buffer.rs` or `signal.rs`, `Drop` notes nothing.
#[test]
fn memory_goes_back() {
    shmem::launch(2, |job| {
        for round in 0..5000u64 {
            // More than there are slots.
            let buffer = job.create_buffer_zeroed::<u64>(1)?;
            let signal = job.create_signal(Add)?;
            signal.add(job.next(), round + 1)?;
            signal.wait_until(Cmp::Eq, round + 1)?;
            drop((buffer, signal));
        }
        Ok(())
    })
    .unwrap();
}

/// More allocations than there are slots: an error on all PEs alike, and the job goes on.
///
/// Broken on purpose: in `wire.rs`, `create` does not compare with `SLOTS`.
#[test]
fn slots_run_out() {
    shmem::launch(2, |job| {
        let mut buffers = Vec::new();
        let error = loop {
            match job.create_buffer::<u8>(1) {
                Ok(buffer) => buffers.push(buffer),
                Err(error) => break error,
            }
        };
        assert_eq!(buffers.len(), 4096);
        assert_eq!(
            error.to_string(),
            "symmetric memory: 4096 allocations are the most that can live at a time; put more in one"
        );
        assert!(job.create_signal(Set).is_err());
        buffers.swap_remove(if job.my_pe() == 0 { 17 } else { 18 }); // not one that both have dropped
        assert!(job.create_buffer::<u8>(1).is_err());
        buffers.truncate(4000);
        let again = job.create_buffer::<u8>(1)?.enqueue_fill(3)?;
        assert_eq!(again.to_vec()?, [3]);
        Ok(())
    })
    .unwrap();
}

/// No memory: the same error on all PEs, and the job goes on.
#[test]
fn memory_runs_out() {
    everywhere(|job| {
        let kept = job.create_buffer_zeroed::<u8>(100)?;
        for _ in 0..3 {
            let error = job.create_buffer::<u64>(1 << 58).unwrap_err();
            let Error::OutOfMemory { place: Memory::Symmetric, asked, held: 100 } = error else { panic!("{error}") };
            assert_eq!(asked, 1 << 61);
            let error = job.create_buffer_zeroed::<u64>(usize::MAX).unwrap_err();
            assert!(matches!(error, Error::TooLarge { len: usize::MAX, elem_size: 8 }));
            assert!(matches!(job.create_buffer::<u8>(isize::MAX as usize), Err(Error::OutOfMemory { .. })));
        }
        drop(kept);
        let open = job.barrier_all(job.create_buffer_zeroed::<u8>(5)?)?;
        job.p(1, &open, 0, job.next())?;
        assert_eq!(job.barrier_all(open)?.to_vec()?, [1, 0, 0, 0, 0]);
        Ok(())
    });
}

/// New memory is not what it was before, as far as chaos can show it: it is poisoned when it is freed and when it is new.
#[test]
fn freed_memory_is_poisoned_under_chaos() {
    shmem::launch_on(Dyn, Device::cpu_chaos(4), 2, |job| {
        drop(job.create_buffer::<u8>(64)?.enqueue_fill(9)?);
        let raw = job.create_buffer::<u8>(64)?;
        // SAFETY: memory of the CPU device is initialised, and any byte is a `u8`.
        assert_eq!(unsafe { raw.assume_init() }.to_vec()?, [0xFF; 64]);
        Ok(())
    })
    .unwrap();
}

/// Drops in every place where a value can be: fields, `Rc` cycles, boxes, containers, an early end.
#[test]
fn values_are_dropped_anywhere() {
    use std::cell::RefCell;
    use std::rc::Rc;
    struct Node<'job> {
        next: RefCell<Option<Rc<Node<'job>>>>,
        buffer: ShmemBuffer<'job, u64>,
    }
    for device in devices() {
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 2, |job| {
                let node = |buffer| Rc::new(Node { next: RefCell::new(None), buffer });
                let (a, b) = (node(local(job, &[1])?), node(local(job, &[2])?));
                *a.next.borrow_mut() = Some(Rc::clone(&b));
                *b.next.borrow_mut() = Some(Rc::clone(&a)); // never dropped
                let leaked: &mut ShmemBuffer<'_, u64> = Box::leak(Box::new(local(job, &[3])?));
                leaked.enqueue_fill(4)?;
                job.reclaim()?;
                assert_eq!((a.buffer.to_vec()?, leaked.to_vec()?), (vec![1], vec![4]));
                let team = job.node()?;
                assert_eq!(team.n_pes(), 2);
                let (_exposed, _signal) = (job.barrier_all(local(job, &[5])?)?, job.create_signal(Set)?);
                Ok(())
            })
        });
        result.unwrap();
    }
}
