//! Programs that do not end well, or nearly so. PE 1 is the one that misbehaves.

use std::io::Read as _;

use escrow::shmem::{Cmp, Set};
use escrow::{Error, ShmemContext};

fn wait(job: &ShmemContext) -> Result<(), Error> {
    Ok(job.context().synchronize(())?)
}

/// Each PE asks for memory of another size.
pub(crate) fn sizes_differ(job: &ShmemContext) -> Result<(), Error> {
    job.create_buffer_zeroed::<f32>(4)?;
    job.create_buffer_zeroed::<f32>(10 + job.my_pe())?;
    Ok(())
}

/// PE 1 reduces where the others pass the barrier.
pub(crate) fn calls_differ(job: &ShmemContext) -> Result<(), Error> {
    let mine = job.create_buffer_zeroed::<u8>(2)?;
    let mut all = job.create_buffer_zeroed::<u8>(2)?;
    if job.my_pe() == 1 {
        job.world().reduce(escrow::shmem::Sum, &mine, &mut all)?;
    } else {
        job.barrier_all(())?;
    }
    wait(job)
}

/// PE 1 passes its buffers to the barrier in the other order.
pub(crate) fn values_differ(job: &ShmemContext) -> Result<(), Error> {
    let (a, b) = (job.create_buffer_zeroed::<u8>(2)?, job.create_buffer_zeroed::<u8>(2)?);
    let (_a, _b) = if job.my_pe() == 1 {
        let (b, a) = job.barrier_all((b, a))?;
        (a, b)
    } else {
        job.barrier_all((a, b))?
    };
    wait(job)
}

/// PE 1 panics while the others wait for it in a barrier.
pub(crate) fn panic(job: &ShmemContext) -> Result<(), Error> {
    let table = job.create_buffer_zeroed::<u8>(2)?;
    assert_ne!(job.my_pe(), 1, "no such table");
    let _open = job.barrier_all(table)?;
    wait(job)
}

/// The same, where no collective call tells them.
pub(crate) fn panic_while_others_wait_for_a_signal(job: &ShmemContext) -> Result<(), Error> {
    let signal = job.create_signal(Set)?;
    assert_ne!(job.my_pe(), 1, "no such signal");
    signal.wait_until(Cmp::Eq, 1)?;
    wait(job)
}

/// PE 1's process exits while the others wait. For processes only: threads would end with it.
pub(crate) fn exit(job: &ShmemContext) -> Result<(), Error> {
    job.barrier_all(())?;
    wait(job)?;
    if job.my_pe() == 1 {
        std::process::exit(0);
    }
    job.barrier_all(())?;
    wait(job)
}

/// PE 1 is done where the others pass a barrier.
pub(crate) fn returns_early(job: &ShmemContext) -> Result<(), Error> {
    if job.my_pe() == 1 {
        return Ok(());
    }
    job.barrier_all(())?;
    wait(job)
}

/// PE 1 returns an error, the others pass a barrier.
pub(crate) fn one_error(job: &ShmemContext) -> Result<(), Error> {
    if job.my_pe() == 1 {
        return Err(job.pe(job.n_pes() + 40).unwrap_err());
    }
    job.barrier_all(())?;
    wait(job)
}

/// The same, where no collective call tells them.
pub(crate) fn one_error_while_others_wait_for_a_signal(job: &ShmemContext) -> Result<(), Error> {
    let signal = job.create_signal(Set)?;
    if job.my_pe() == 1 {
        return Err(job.pe(job.n_pes() + 40).unwrap_err());
    }
    signal.wait_until(Cmp::Eq, 1)?;
    wait(job)
}

/// All PEs return an error: `launch` returns it on each.
pub(crate) fn all_errors(job: &ShmemContext) -> Result<(), Error> {
    let table = job.create_buffer_zeroed::<u8>(8)?;
    let _more = job.create_buffer_zeroed::<u8>(1 << 46)?;
    drop(table);
    Ok(())
}

/// PE 0 comes to the barrier when its standard input has ended.
pub(crate) fn late(job: &ShmemContext) -> Result<(), Error> {
    if job.my_pe() == 0 {
        let mut rest = Vec::new();
        std::io::stdin().read_to_end(&mut rest).expect("standard input can be read");
    }
    job.barrier_all(())?;
    wait(job)
}
