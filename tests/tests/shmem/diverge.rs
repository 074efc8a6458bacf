//! Invariant 17: PEs that do not make the same collective calls find out, all of them, and nothing runs on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use escrow::{DType, Device, Dyn, Error, ShmemContext, shmem};
use escrow_tests::on_worker;

use super::{devices, in_time, local};

/// Runs `f` on 2 and 3 PEs, where each must see that the calls differ, at the latest at its next wait. Returns what PE 0
/// says.
#[track_caller]
fn diverges(f: impl Fn(&ShmemContext) -> Result<(), Error> + Copy + Send + Sync + 'static) -> String {
    let mut text = String::new();
    for pes in [2, 3] {
        for device in devices() {
            let seen = Arc::new(AtomicU32::new(0));
            let all = Arc::clone(&seen);
            let result = in_time(move || {
                shmem::launch_on(Dyn, device, pes, |job| {
                    let called = f(job).and_then(|()| Ok(job.context().synchronize(())?));
                    let Err(Error::Diverged(calls)) = &called else {
                        panic!("PE {} of {pes}: {called:?}", job.my_pe());
                    };
                    assert!(calls.here.0 != calls.there.0 && !calls.here.1.is_empty() && !calls.there.1.is_empty());
                    assert_ne!(calls.here.1, calls.there.1);
                    all.fetch_add(1, Ordering::Relaxed);
                    // Later calls say so too.
                    assert!(matches!(job.barrier_all(()).and_then(|()| job.reclaim()), Err(Error::Diverged(_))));
                    called
                })
            });
            assert_eq!(seen.load(Ordering::Relaxed), pes as u32, "{result:?}");
            text = result.unwrap_err().to_string();
        }
    }
    text
}

fn of<T: DType>(job: &ShmemContext) -> Result<(), Error> {
    job.create_buffer::<T>(3).map(|_| ())
}

fn odd(job: &ShmemContext) -> bool {
    job.my_pe() == job.n_pes() - 1
}

/// 17: lengths and types of an allocation.
///
/// Broken on purpose: in `context.rs`, `create_buffer` leaves `len`, or the digest of the type, out of its card.
#[test]
fn allocations_of_other_sizes() {
    let text = diverges(|job| job.create_buffer::<f32>(4 + job.my_pe()).map(|_| ()));
    assert!(text.contains("`create_buffer` of 4 elements of 4 bytes"), "{text}");
    assert!(text.contains("of 5 elements") || text.contains("of 6 elements"), "{text}");
    diverges(|job| if odd(job) { of::<f32>(job) } else { of::<f64>(job) });
    let text = diverges(|job| if odd(job) { of::<f32>(job) } else { of::<u32>(job) });
    assert!(text.contains("element types"), "{text}");
    // Nothing to allocate, or too much, on one of them.
    diverges(|job| job.create_buffer::<u64>(usize::from(!odd(job))).map(|_| ()));
    diverges(|job| match job.create_buffer::<u64>(if odd(job) { usize::MAX } else { 1 }) {
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    });
    diverges(|job| {
        if odd(job) { job.create_signal(shmem::Add).map(|_| ()) } else { job.create_signal(shmem::Set).map(|_| ()) }
    });
}

/// 17, R20: what a barrier flips.
///
/// Broken on purpose: in `phase.rs`, `Flips::add` leaves out the slot; or the phase; or `flip` leaves out the digest.
#[test]
fn barriers_of_other_values() {
    let text = diverges(|job| {
        let (a, b) = (local(job, &[1u8])?, local(job, &[2u8])?);
        job.barrier_all(if odd(job) { a } else { b }).map(|_| ())
    });
    assert!(text.contains("`barrier_all` of 1 values") && text.contains("other buffers"), "{text}");
    diverges(|job| {
        let (a, b) = (local(job, &[1u8])?, local(job, &[2u8])?);
        job.barrier_all(if odd(job) { (a, b) } else { (b, a) }).map(|_| ())
    });
    diverges(|job| {
        let a = local(job, &[1u8])?;
        if odd(job) { job.barrier_all(a).map(|_| ()) } else { job.barrier_all(()) }
    });
    // One exposes what the other takes back.
    diverges(|job| {
        let a = local(job, &[1u8])?;
        if !odd(job) {
            return job.barrier_all(a).map(|_| ());
        }
        // SAFETY: nobody puts.
        let open = unsafe { a.assume_exposed() };
        job.barrier_all(open).map(|_| ())
    });
    diverges(|job| {
        let (mut a, b) = (local(job, &[1u8])?, local(job, &[2u8])?);
        let mut b = job.barrier_all(b)?;
        if odd(job) { job.barrier_swap(&mut a, &mut b) } else { job.barrier_all((b, a)).map(|_| ()) }
    });
}

/// 17: calls that one PE skips, or makes in another order.
#[test]
fn skipped_calls() {
    let text = diverges(|job| if odd(job) { job.reclaim() } else { job.barrier_all(()) });
    assert!(text.contains("`reclaim`") && text.contains("`barrier_all`"), "{text}");
    diverges(|job| if odd(job) { Ok(()) } else { job.barrier_all(()) }.and_then(|()| job.world().barrier()));
    diverges(|job| {
        let (a, mut b) = (local(job, &[1u8; 6])?, local(job, &[2u8; 6])?);
        let world = job.world();
        if odd(job) { world.reduce(shmem::Sum, &a, &mut b) } else { world.reduce(shmem::Max, &a, &mut b) }
    });
    diverges(|job| {
        let (a, mut b) = (local(job, &[1u8; 6])?, local(job, &[2u8; 6])?);
        job.world().broadcast(if odd(job) { job.pe(1)? } else { job.pe(0)? }, &a, &mut b)
    });
    diverges(|job| {
        escrow::teams! { Part }
        job.world().split_strided(Part, 0, 1, if odd(job) { 1 } else { 2 }).map(|_| ())
    });
}

/// A PE that ends while the others are in a barrier, or in another call.
#[test]
fn an_early_end() {
    for device in devices() {
        let result =
            in_time(move || shmem::launch_on(Dyn, device, 3, |job| if odd(job) { Ok(()) } else { job.reclaim() }));
        let Err(Error::Diverged(calls)) = &result else { panic!("{result:?}") };
        let both = format!("{} {}", calls.here.1, calls.there.1);
        assert!(both.contains("the end of the job") && both.contains("`reclaim`"), "{both}");
    }
}

/// 17, R21, R52: nothing behind a barrier that failed runs, nor on streams that come behind it.
///
/// Broken on purpose: in `wire.rs`, `agree` returns `Ok` where the words differ.
#[test]
fn nothing_behind_a_failed_barrier_runs() {
    for device in devices() {
        let ran = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&ran);
        let result = in_time(move || {
            shmem::launch_on(Dyn, device, 2, |job| {
                let (a, b) = (local(job, &[1u32])?, local(job, &[2u32])?);
                let other = job.context().fork()?;
                let open = job.barrier_all(if odd(job) { a } else { b })?;
                let behind = |n| {
                    let ran = Arc::clone(&count);
                    move || {
                        ran.fetch_add(n, Ordering::Relaxed);
                    }
                };
                on_worker(job.context(), behind(1))?;
                let plain = job.context().enqueue_create_buffer_zeroed::<u32>(1)?;
                let plain = job.context().handoff(plain, &other)?;
                on_worker(&other, behind(100))?;
                assert!(matches!(plain.to_vec(), Err(Error::Diverged(_))));
                assert!(matches!(other.synchronize(()).unwrap_err().error, Error::Diverged(_)));
                assert!(job.p(1, &open, 0, job.next()).is_err() || job.context().synchronize(()).is_err());
                Ok(())
            })
        });
        assert!(matches!(result, Err(Error::Diverged(_))), "{result:?}");
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    }
}

/// The chaos of one device is that of all its PEs, each with its own seed.
#[test]
fn chaos_reaches_the_pes() {
    let names = shmem::launch_on(Dyn, Device::cpu_chaos(1), 2, |job| Ok(job.context().device().name()));
    assert_eq!(names.unwrap(), ["cpu (chaos)"; 2]);
}
