//! Phases, and the life of symmetric memory.

use escrow::shmem::{Set, Sum};
use escrow::{Error, Exposed, Memory, ShmemBuffer, ShmemContext};

/// Two buffers and one barrier a step.
pub(crate) fn phases(job: &ShmemContext) -> Result<(), Error> {
    const LEN: usize = 64;
    let (me, previous) = (job.my_pe() as u64, job.previous().rank() as u64);
    let mut mine = job.context().enqueue_create_buffer_zeroed::<u64>(LEN)?;
    let mut halo = job.create_buffer_zeroed::<u64>(LEN)?;
    let mut open = job.barrier_all(job.create_buffer_zeroed::<u64>(LEN)?)?;
    for step in 0..200u64 {
        mine.enqueue_fill(step * 10 + me)?;
        job.put(&mine, &open, job.next())?;
        (open, halo) = job.barrier_all((halo, open))?;
        assert_eq!(halo.to_vec()?, [step * 10 + previous; LEN]);
    }
    // Without a look between the steps: everything is enqueued, then waited for once.
    for step in 0..200u64 {
        mine.enqueue_fill(step)?;
        job.put(&mine, &open, job.next())?;
        (open, halo) = job.barrier_all((halo, open))?;
    }
    assert_eq!(halo.to_vec()?, [199; LEN]);

    // Many values in one barrier, in every container.
    let opened = job.barrier_all((
        vec![job.create_buffer_zeroed::<u8>(1)?, job.create_buffer_zeroed(2)?],
        [job.create_buffer_zeroed::<u16>(3)?, job.create_buffer_zeroed(4)?],
        (halo, open),
    ))?;
    let (bytes, halves, (open, halo)) = opened;
    job.p(7, &bytes[1], 1, job.next())?;
    job.p(8, &halves[1], 3, job.next())?;
    let (bytes, halves, _) = job.barrier_all((bytes, halves, (open, halo)))?;
    assert_eq!((bytes[1].to_vec()?, halves[1].to_vec()?), (vec![0, 7], vec![0, 0, 0, 8]));
    Ok(())
}

/// `barrier_swap`.
pub(crate) fn swapped_fields(job: &ShmemContext) -> Result<(), Error> {
    struct Halo<'job> {
        local: ShmemBuffer<'job, u32>,
        open: Exposed<ShmemBuffer<'job, u32>>,
    }
    let local = job.create_buffer_zeroed(2)?;
    let mut halo = Halo { local, open: job.barrier_all(job.create_buffer_zeroed(2)?)? };
    for step in 0..50 {
        job.p(step + job.my_pe() as u32, &halo.open, 1, job.next())?;
        job.barrier_swap(&mut halo.local, &mut halo.open)?;
        assert_eq!(halo.local.to_vec()?[1], step + job.previous().rank() as u32);
    }
    Ok(())
}

/// Everything with no elements.
pub(crate) fn no_elements(job: &ShmemContext) -> Result<(), Error> {
    let empty = job.create_buffer_zeroed::<u64>(0)?;
    assert!(empty.is_empty() && empty.to_vec()?.is_empty());
    let nothing = job.context().enqueue_create_buffer_zeroed::<u64>(0)?;
    let mut room = job.context().enqueue_create_buffer_zeroed::<u64>(0)?;
    let (open, some) = job.barrier_all((empty, job.create_buffer_zeroed::<u64>(3)?))?;
    let signal = job.create_signal(Set)?;
    job.put(&nothing, &open, job.next())?;
    job.put(&nothing, &some.slice(3..)?, job.next())?;
    job.get(&open, &mut room, job.next())?;
    job.put_signal(&nothing, &open, job.next(), &signal, 1)?;
    signal.wait_until(escrow::shmem::Cmp::Eq, 1)?;
    assert!(matches!(job.p(1u64, &open, 0, job.next()), Err(Error::Range { .. })));
    let (empty, some) = job.barrier_all((open, some))?;
    assert_eq!(some.to_vec()?, [0; 3]);
    let mut result = job.create_buffer_zeroed::<u64>(0)?;
    let world = job.world();
    world.broadcast(world.pe(0)?, &empty, &mut result)?;
    world.fcollect(&empty, &mut result)?;
    world.alltoall(&empty, &mut result)?;
    world.reduce(Sum, &empty, &mut result)?;
    world.reduce_scatter(Sum, &empty, &mut result)?;
    job.reclaim()
}

/// PEs that drop in different orders and at different times, while memory is made and freed.
pub(crate) fn drops_in_any_order(job: &ShmemContext) -> Result<(), Error> {
    let (me, pes) = (job.my_pe(), job.n_pes());
    let mut kept: Vec<Option<ShmemBuffer<'_, u32>>> = Vec::new();
    for round in 0..30usize {
        kept.push(Some(job.create_buffer::<u32>(1000 + round * 13)?.enqueue_fill((round * 10 + me) as u32)?));
        // Each PE drops others, in another order; all have dropped the round's oldest in the end.
        let at = (round * 7 + me * 3) % kept.len();
        if round % 3 != 0 && kept[at].is_some() && round >= 4 && at < round - 3 {
            kept[at] = None;
        }
        if round % 5 == 4 {
            job.reclaim()?;
        }
        for (made, buffer) in kept.iter().enumerate() {
            if let Some(buffer) = buffer {
                let found = buffer.to_vec()?;
                assert_eq!(found, vec![(made * 10 + me) as u32; 1000 + made * 13], "memory in use was freed");
            }
        }
    }
    if me % 2 == 0 {
        kept.reverse();
    }
    drop(kept);
    job.reclaim()?;

    // A dropped buffer is not freed while its last puts are on their way.
    for step in 0..30u32 {
        let open = job.barrier_all(job.create_buffer_zeroed::<u32>(256)?)?;
        let source = job.context().enqueue_create_buffer::<u32>(256)?.enqueue_fill(step)?;
        for pe in job.iter().skip(me % pes) {
            job.put(&source, &open, pe)?;
        }
        drop(open);
        let fresh = job.create_buffer::<u32>(256)?.enqueue_fill(77)?;
        job.barrier_all(())?;
        assert_eq!(fresh.to_vec()?, [77; 256]);
    }
    job.reclaim()
}

/// No more memory: the same error on all PEs, and the job goes on.
pub(crate) fn full_heap(job: &ShmemContext) -> Result<(), Error> {
    let full = |error: &Error| matches!(error, Error::OutOfMemory { place: Memory::Symmetric, .. });
    // More than any machine has.
    let error = job.create_buffer::<u8>(1 << 46).expect_err("64 TiB are too much");
    assert!(full(&error), "{error}");
    assert!(matches!(job.create_buffer::<u64>(usize::MAX / 8), Err(Error::TooLarge { .. })));
    if job.engine() == "openshmem" {
        // Open MPI's heap is 256 MiB unless the environment says otherwise: 32 of these fill it.
        let mut kept = Vec::new();
        let error = loop {
            match job.create_buffer::<u8>(8 << 20) {
                Ok(buffer) => kept.push(buffer.enqueue_fill(kept.len() as u8)?),
                Err(error) => break error,
            }
            assert!(kept.len() < 64, "more than the heap has");
        };
        assert!(full(&error) && error.to_string().contains("SHMEM_SYMMETRIC_HEAP_SIZE"), "{error}");
        assert!(kept.iter().enumerate().all(|(at, buffer)| buffer.to_vec().is_ok_and(|bytes| bytes[1] == at as u8)));
        drop(kept);
        // What all have dropped is there again.
        job.create_buffer_zeroed::<u8>(64 << 20)?;
    }
    let open = job.barrier_all(job.create_buffer_zeroed::<u8>(1)?)?;
    job.p(job.my_pe() as u8 + 1, &open, 0, job.next())?;
    assert_eq!(job.barrier_all(open)?.to_vec()?, [job.previous().rank() as u8 + 1]);
    job.reclaim()
}

/// Errors of one call leave the job as it was.
pub(crate) fn errors_of_arguments(job: &ShmemContext) -> Result<(), Error> {
    let pes = job.n_pes();
    assert!(matches!(job.pe(pes), Err(Error::NoPe { pe, n_pes }) if pe == pes && n_pes == pes));
    let mine = job.context().enqueue_create_buffer_zeroed::<u8>(3)?;
    let (mut short, mut long) = (job.create_buffer_zeroed::<u8>(3)?, job.create_buffer_zeroed::<u8>(3 * pes + 1)?);
    // All PEs pass the same wrong lengths: all get the same error, and the next call goes well.
    assert!(matches!(job.world().fcollect(&short, &mut long), Err(Error::Length { .. })));
    assert!(matches!(job.world().reduce(Sum, &long, &mut short), Err(Error::Length { .. })));
    assert!(matches!(job.world().split_strided(escrow::shmem::World, 0, 1, pes + 1), Err(Error::NoPe { .. })));
    assert!(matches!(job.world().split_strided(escrow::shmem::World, 0, 0, 1), Err(Error::Refused { .. })));
    let open = job.barrier_all(short)?;
    assert!(matches!(job.put(&mine, &open.slice(1..)?, job.next()), Err(Error::Length { .. })));
    assert!(matches!(job.g::<u8, _>(&open, 3, job.next()), Err(Error::Range { .. })));
    assert!(matches!(job.put_strided((&mine, 0), (&open, 1), job.next()), Err(Error::Refused { .. })));
    assert_eq!(job.barrier_all(open)?.to_vec()?, [0; 3]);
    Ok(())
}
