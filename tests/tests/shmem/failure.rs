//! Invariants 17 and 20: a PE that fails ends the job for all, at once, and nothing waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use escrow::shmem::{Add, Cmp, Set};
use escrow::{Device, Dyn, Error, ShmemContext, shmem};
use escrow_tests::{fail, on_worker};

use super::{devices, in_time, local, pe_failed, quiet_panic};

/// A way for PE 1 to fail.
type Fails = fn(&ShmemContext) -> Result<(), Error>;
/// What the other PEs wait in, meanwhile.
type Waits = fn(&ShmemContext) -> Result<(), Error>;

const WAITS: [Waits; 8] = [
    |job| {
        job.barrier_all(())?;
        Ok(job.context().synchronize(())?)
    },
    |job| job.reclaim(),
    |job| job.create_buffer_zeroed::<u8>(4).map(|_| ()),
    |job| {
        job.world().barrier()?;
        Ok(job.context().synchronize(())?)
    },
    |job| {
        // Nobody ever sends.
        let context = job.context();
        job.world().barrier()?;
        context.scope(|_| Ok(()))
    },
    |_| Ok(()), // in the end of the job
    |job| loop {
        job.quiet()?; // calls that wait for nobody
    },
    |job| {
        job.barrier_all(())?;
        loop {
            job.fence()?; // until the queue behind the barrier is full (R39)
        }
    },
];

/// PE 1 fails while the others wait: each of them sees that within 5 s, and `launch` returns what PE 1 said.
#[track_caller]
fn ends_the_job(fails: Fails, said: &str) -> Error {
    let mut last = None;
    for waits in WAITS {
        for device in devices() {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let sees = Arc::clone(&seen);
            let result = in_time(move || {
                shmem::launch_on(Dyn, device, 3, |job| {
                    if job.my_pe() == 1 {
                        return fails(job);
                    }
                    let waited = waits(job).and_then(|()| job.reclaim());
                    sees.lock().unwrap().push(waited.clone());
                    waited
                })
            });
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            assert_eq!(seen.len(), 2);
            for waited in seen {
                let (pe, _) = pe_failed(waited.as_ref().unwrap_err());
                assert_eq!(pe, 1);
            }
            let error = result.unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
            last = Some(error);
        }
    }
    last.unwrap()
}

/// 20: a panic of a PE's own code.
///
/// Broken on purpose: in `launch.rs`, `run_pe` does not call `give_up`.
#[test]
fn a_panic_ends_the_job() {
    let error = ends_the_job(|_| quiet_panic("out of coffee"), "PE 1 failed: it panicked: out of coffee");
    assert_eq!(pe_failed(&error), (1, "it panicked: out of coffee"));
}

/// 20: an error is what `launch` returns, and not that the others failed of it.
#[test]
fn an_error_ends_the_job() {
    let error = ends_the_job(|job| job.pe(9).map(|_| ()), "there is no PE 9");
    assert!(matches!(error, Error::NoPe { pe: 9, n_pes: 3 }));
}

/// 20: a kernel that panics fails its stream, and what comes behind it there fails the job: the PE's thread need not look.
///
/// Broken on purpose: in `cpu/core.rs`, `execute` passes over calls on a failed stream without a word.
#[test]
fn a_panic_in_a_kernel_ends_the_job() {
    let error = ends_the_job(
        |job| {
            fail(job.context())?;
            job.barrier_all(())?;
            Ok(job.context().synchronize(())?)
        },
        "wanted by a test",
    );
    assert!(matches!(error, Error::StreamFailed(_)), "{error}");
    // Nor does it return: it waits for a word from PE 0's thread, which is in a barrier with it.
    let (sender, receiver) = channel();
    let (sender, receiver) = (Mutex::new(Some(sender)), Mutex::new(receiver));
    let result = in_time(move || {
        shmem::launch(2, |job| {
            if job.my_pe() == 1 {
                fail(job.context())?;
                job.barrier_all(())?;
                let heard: Result<(usize, String), Error> = receiver.lock().unwrap().recv().unwrap();
                assert_eq!(heard.unwrap().0, 1);
            } else {
                let sender = sender.lock().unwrap().take().unwrap();
                let waited = job.reclaim().unwrap_err();
                let (pe, message) = pe_failed(&waited);
                sender.send(Ok((pe, message.to_owned()))).unwrap();
            }
            Ok(())
        })
    });
    assert!(result.unwrap_err().to_string().contains("wanted by a test"));
}

/// 20, R28: a panic unwinds through a wait for a stream that stands at a barrier, to which nobody else will come.
///
/// Broken on purpose: in `scope.rs`, `Drop` does not call `announce_panic`.
#[test]
fn a_panic_in_a_scope_ends_the_job() {
    let (release, held) = channel::<()>();
    let (release, held) = (Mutex::new(Some(release)), Mutex::new(Some(held)));
    let result = in_time(move || {
        shmem::launch(3, |job| {
            let signal = job.create_signal(Set)?;
            match job.my_pe() {
                0 => {
                    // PE 1 would have sent it.
                    let waited = signal.wait_until(Cmp::Eq, 1).and_then(|()| Ok(job.context().synchronize(())?));
                    drop(release.lock().unwrap().take());
                    waited
                }
                1 => {
                    let mut there = [0u8; 16];
                    let source = job.context().enqueue_create_buffer_zeroed::<u8>(16)?;
                    job.barrier_all(())?;
                    job.context().scope(|s| {
                        source.enqueue_copy_to(s.lend_mut(&mut there))?;
                        quiet_panic("inside")
                    })
                }
                _ => {
                    // Its stream is at work all the time, so this is no standstill.
                    let held = held.lock().unwrap().take().unwrap();
                    on_worker(job.context(), move || {
                        let _ = held.recv();
                    })?;
                    Ok(job.context().synchronize(())?)
                }
            }
        })
    });
    assert_eq!(pe_failed(&result.unwrap_err()).0, 1);
}

/// 16, 20: a drop of the user's makes collective calls while a panic unwinds: the job is over before they wait.
///
/// Broken on purpose: in `engine.rs`, `enqueue` does not call `announce_panic`.
#[test]
fn collective_calls_while_unwinding_are_refused() {
    struct Tidy<'job>(&'job ShmemContext, Arc<AtomicU32>);
    impl Drop for Tidy<'_> {
        fn drop(&mut self) {
            let refused = self.0.reclaim().is_err() && self.0.create_buffer::<u8>(1).is_err();
            self.1.fetch_add(u32::from(refused), Ordering::Relaxed);
        }
    }
    for device in devices() {
        let refused = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&refused);
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 2, |job| {
                let signal = job.create_signal(Set)?;
                if job.my_pe() == 0 {
                    signal.wait_until(Cmp::Eq, 1)?;
                    return Ok(job.context().synchronize(())?);
                }
                let _tidy = Tidy(job, Arc::clone(&counts));
                quiet_panic("untidy")
            })
        });
        assert_eq!(pe_failed(&result.unwrap_err()).0, 1);
        assert_eq!(refused.load(Ordering::Relaxed), 1);
    }
}

/// A payload, or a result, whose drop panics: again, and again.
struct Bomb(u32);
impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            resume_unwind(Box::new(Bomb(self.0 - 1)));
        }
    }
}

/// 19, 20: no panic leaves a PE's frame before its stream has been waited for, for the others write to its memory; and the
/// others hear of it first.
///
/// Broken on purpose: in `launch.rs`, `run_pe` drops the payload, or the value, where it is.
#[test]
fn panics_of_drops_do_not_leave_the_frame() {
    for device in devices() {
        let again = device.clone();
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 3, |job| -> Result<(), Error> {
                if job.my_pe() == 1 {
                    resume_unwind(Box::new(Bomb(3)));
                }
                job.reclaim()
            })
        });
        assert_eq!(pe_failed(&result.unwrap_err()), (1, "it panicked: without a text"));
        // PE 1 ends well, and its value is dropped because the others do not.
        let result = in_time(move || {
            shmem::launch_on(Dyn, again, 3, |job| match job.my_pe() {
                1 => Ok(Bomb(2)),
                _ => job.reclaim().map(|()| Bomb(0)),
            })
        });
        assert!(matches!(result.map(|_| ()), Err(Error::Diverged(_))));
    }
}

/// 17, R21: behind a barrier that another PE does not reach nothing runs: no kernel, and no copy of what is only half there.
///
/// Broken on purpose: in `local/mod.rs`, `wait` returns `Ok` when the job has failed.
#[test]
fn nothing_runs_behind_a_barrier_that_failed() {
    for device in devices() {
        let ran = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&ran);
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 3, |job| {
                let buffer = job.create_buffer_zeroed::<u32>(4)?;
                if job.my_pe() == 2 {
                    quiet_panic("before the barrier");
                }
                // Enqueued before or behind the failure: it is the same to what follows.
                let Ok(open) = job.barrier_all(buffer) else { return Ok(()) };
                let ran = Arc::clone(&counts);
                on_worker(job.context(), move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                })?;
                let other = job.context().fork()?;
                let plain = job.context().handoff(job.context().enqueue_create_buffer_zeroed::<u8>(1)?, &other)?;
                let ran = Arc::clone(&counts);
                on_worker(&other, move || {
                    ran.fetch_add(100, Ordering::Relaxed);
                })?;
                assert_eq!(pe_failed(&plain.to_vec().unwrap_err()).0, 2);
                assert_eq!(pe_failed(&job.barrier_all(open).unwrap_err()).0, 2);
                Ok(())
            })
        });
        assert_eq!(pe_failed(&result.unwrap_err()), (2, "it panicked: before the barrier"));
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    }
}

/// 17, Q11: a swap that failed leaves buffers of no elements, on which nothing succeeds.
///
/// Broken on purpose: in `phase.rs`, `barrier_swap` leaves the values; or `flip` does not make the stream fail.
#[test]
fn a_failed_swap_leaves_stand_ins() {
    for device in devices() {
        let reached = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&reached);
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 2, |job| {
                let mut mine = local(job, &[1u32; 4])?;
                let mut open = job.barrier_all(local(job, &[2u32; 4])?)?;
                job.reclaim()?; // both are here
                if job.my_pe() == 1 {
                    return Err(job.pe(5).unwrap_err());
                }
                // Refused at the call, once the failure has come here. Nothing remote is pending: the stream has not failed.
                while job.atomics().is_ok() {
                    std::thread::yield_now();
                }
                assert_eq!(mine.to_vec()?, [1; 4]);
                assert_eq!(pe_failed(&job.barrier_swap(&mut mine, &mut open).unwrap_err()).0, 1);
                assert_eq!((mine.len(), open.len()), (0, 0));
                assert_eq!(pe_failed(&mine.to_vec().unwrap_err()).0, 1);
                let empty = job.context().enqueue_create_buffer_zeroed::<u32>(0)?;
                assert_eq!(pe_failed(&job.put(&empty, &open, job.me()).unwrap_err()).0, 1);
                assert_eq!(pe_failed(&job.world().barrier().unwrap_err()).0, 1);
                assert_eq!(pe_failed(&job.barrier_swap(&mut mine, &mut open).unwrap_err()).0, 1);
                counts.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        assert!(matches!(result, Err(Error::NoPe { .. })), "{result:?}");
        assert_eq!(reached.load(Ordering::Relaxed), 1);
    }
}

/// Every call says that the job is over.
#[test]
fn every_call_says_that_the_job_is_over() {
    let reached = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&reached);
    let result = in_time(move || {
        shmem::launch(2, |job| {
            let mut mine = local(job, &[1u32; 4])?;
            let other = local(job, &[1u32; 4])?;
            let open = job.barrier_all(local(job, &[2u32; 4])?)?;
            let (set, add) = (job.create_signal(Set)?, job.create_signal(Add)?);
            let on = job.atomics()?;
            job.reclaim()?; // both are here
            if job.my_pe() == 1 {
                quiet_panic("gone");
            }
            while job.quiet().is_ok() {}
            let (world, to) = (job.world(), job.next());
            let errors = [
                job.put(&mine, &open, to).unwrap_err(),
                job.get(&open, &mut mine, to).unwrap_err(),
                job.put_strided((&mine, 1), (&open, 1), to).unwrap_err(),
                job.get_strided((&open, 1), (&mut mine, 1), to).unwrap_err(),
                job.p(1u32, &open, 0, to).unwrap_err(),
                job.g::<u32, _>(&open, 0, to).unwrap_err(),
                job.put_signal(&mine, &open, to, &set, 1).unwrap_err(),
                set.set(to, 1).unwrap_err(),
                add.add(to, 1).unwrap_err(),
                set.wait_until(Cmp::Eq, 1).unwrap_err(),
                set.fetch().unwrap_err(),
                on.add(1u32, &open, 0, to).unwrap_err(),
                on.fetch::<u32, _>(&open, 0, to).unwrap_err(),
                job.fence().unwrap_err(),
                job.quiet().unwrap_err(),
                job.reclaim().unwrap_err(),
                job.create_buffer::<u8>(1).unwrap_err(),
                job.create_buffer::<u8>(0).unwrap_err(),
                job.create_signal(Set).unwrap_err(),
                job.atomics().map(|_| ()).unwrap_err(),
                job.node().map(|_| ()).unwrap_err(),
                world.barrier().unwrap_err(),
                world.broadcast(to, &other, &mut mine).unwrap_err(),
                world.fcollect(&other, &mut mine).unwrap_err(),
                world.alltoall(&other, &mut mine).unwrap_err(),
                world.reduce(shmem::Sum, &other, &mut mine).unwrap_err(),
                world.split_2d(shmem::Node, shmem::Node, 1).map(|_| ()).unwrap_err(),
                job.barrier_all(open).map(|_| ()).unwrap_err(),
            ];
            for error in &errors {
                assert_eq!(pe_failed(error), (1, "it panicked: gone"));
            }
            counts.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
    assert_eq!(pe_failed(&result.unwrap_err()).0, 1);
    assert_eq!(reached.load(Ordering::Relaxed), 1);
}

/// Nothing hangs: when every stream stands at a wait that only another stream could end, the job fails and says so.
///
/// Broken on purpose: in `local/mod.rs`, `watch` does not call `standstill`.
#[test]
fn a_standstill_is_a_failure() {
    for device in devices() {
        let (again, third) = (device.clone(), device.clone());
        // One has ended, one waits for its signal.
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 2, |job| {
                let signal = job.create_signal(Set)?;
                if job.my_pe() == 0 { Ok(()) } else { signal.wait_until(Cmp::Eq, 1) }
            })
        });
        let error = result.unwrap_err();
        let text = "it waits for a signal that nobody can send any more; PE 0 is in the end of the job";
        assert_eq!(pe_failed(&error), (1, text));
        // Alone.
        let result = in_time(move || {
            shmem::launch_on(Dyn, again, 1, |job| {
                let signal = job.create_signal(Add)?;
                signal.wait_until(Cmp::Gt, 3)?;
                signal.add(job.me(), 4) // behind the wait
            })
        });
        assert_eq!(pe_failed(&result.unwrap_err()), (0, "it waits for a signal that nobody can send any more"));
        // Three teams of two, in a circle.
        let result = in_time(move || {
            escrow::teams! { Pair }
            shmem::launch_on(Dyn, third, 3, |job| {
                let world = job.world();
                let (a, b) = (world.split_strided(Pair, 0, 1, 2)?, world.split_strided(Pair, 1, 1, 2)?);
                let c = world.split_strided(Pair, 0, 2, 2)?;
                match job.my_pe() {
                    0 => a.unwrap().barrier()?,
                    1 => b.unwrap().barrier()?,
                    _ => c.unwrap().barrier()?,
                }
                Ok(job.context().synchronize(())?)
            })
        });
        assert!(matches!(result, Err(Error::Diverged(_))), "{result:?}");
    }
}

/// A wait that is long is no standstill: one PE's stream is still at work, and then sends.
///
/// Broken on purpose: in `local/mod.rs`, `standstill` looks at the PEs that wait, and not at whether all do.
#[test]
fn a_late_signal_is_no_standstill() {
    shmem::launch(3, |job| {
        let signal = job.create_signal(Add)?;
        if job.my_pe() == 0 {
            // Longer than the watch between two looks.
            on_worker(job.context(), || {
                let start = std::time::Instant::now();
                while start.elapsed().as_millis() < 350 {
                    std::thread::yield_now();
                }
            })?;
            job.iter().try_for_each(|pe| signal.add(pe, 1))?;
        }
        signal.wait_until(Cmp::Ge, 1)
    })
    .unwrap();
}

/// A panic that the program catches and lives through, where nothing waited meanwhile, is its own affair.
#[test]
fn a_caught_panic_is_no_failure() {
    for device in devices() {
        shmem::launch_on(Dyn, device, 2, |job| {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _buffer = job.create_buffer_zeroed::<u8>(8);
                quiet_panic("caught")
            }));
            assert!(caught.is_err());
            let open = job.barrier_all(job.create_buffer_zeroed::<u8>(1)?)?;
            job.p(3, &open, 0, job.next())?;
            assert_eq!(job.barrier_all(open)?.to_vec()?, [3]);
            Ok(())
        })
        .unwrap();
    }
}

/// Errors that a PE passes over do not let it go on: the job's end reports what its stream failed with.
#[test]
fn an_ignored_failure_is_reported_at_the_end() {
    let result = in_time(|| {
        shmem::launch_on(Dyn, Device::cpu(), 2, |job| {
            if job.my_pe() == 0 {
                fail(job.context())?;
            }
            Ok(())
        })
    });
    assert!(matches!(result, Err(Error::StreamFailed(_))), "{result:?}");
}
