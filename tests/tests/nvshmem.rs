//! Jobs on GPUs: each test starts processes of this program, whose PEs check what they get.
#![cfg(feature = "cuda")]

use std::process::Command;
use std::time::{Duration, Instant};

use escrow::shmem::{self, Add, Cmp, Max, Set, Sum};
use escrow::{Device, Error, Launch, PeerSpan, ShmemContext};

escrow::teams! { Even, Row, Column }

/// Why there is nothing to test here, if there is nothing.
fn missing() -> Option<&'static str> {
    if std::env::var_os("ESCROW_NVSHMEM").is_none() {
        return Some("`ESCROW_NVSHMEM` does not name NVSHMEM's host library");
    }
    if Device::cuda(0).is_err() { Some("there is no GPU") } else { None }
}

/// Runs the ignored test `name` on `pes` PEs in a process of its own; what it wrote, and whether it succeeded.
fn run(name: &str, pes: usize, env: &[(&str, &str)]) -> Option<(bool, String)> {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return None;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([name, "--exact", "--ignored", "--nocapture"]).env("ESCROW_SHMEM", "nvshmem");
    child.env("ESCROW_TEST_PES", pes.to_string()).envs(env.iter().copied());
    let output = child.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Some((output.status.success(), text))
}

fn pes() -> usize {
    std::env::var("ESCROW_TEST_PES").unwrap().parse().unwrap()
}

fn succeeds(name: &str) {
    for pes in [1, 2, 4] {
        let Some((ok, text)) = run(name, pes, &[]) else { return };
        assert!(ok, "{name} on {pes} PEs:\n{text}");
    }
}

fn moves(job: &ShmemContext) -> Result<(), Error> {
    let (me, n) = (job.my_pe() as u32, job.n_pes() as u32);
    let left = (me + n - 1) % n;
    let ctx = job.context();
    let mine = ctx.enqueue_create_buffer::<u32>(1000)?.enqueue_fill(me + 1)?;
    let open = job.barrier_all(job.create_buffer_zeroed::<u32>(1001)?)?;
    job.put(&mine, &open.slice(1..)?, job.next())?;
    job.p(77u32, &open, 0, job.next())?;
    let table = job.barrier_all(open)?;
    let seen = table.to_vec()?;
    assert_eq!(seen[0], 77);
    assert!(seen[1..].iter().all(|value| *value == left + 1));
    let open = job.barrier_all(table)?;
    let mut got = ctx.enqueue_create_buffer_zeroed::<u32>(1000)?;
    job.get(&open.slice(1..)?, &mut got, job.next())?; // what this PE put there
    assert_eq!(got.to_vec()?, [me + 1; 1000]);
    assert_eq!(job.g::<u32, _>(&open, 1000, job.next())?, me + 1);
    job.barrier_all(open)?;

    let row = ctx.enqueue_create_buffer::<u8>(3)?.copy_from_slice(&[1, 2, 3])?;
    let open = job.barrier_all(job.create_buffer_zeroed::<u8>(6)?)?;
    job.put_strided((&row, 1), (&open, 2), job.next())?;
    let local = job.barrier_all(open)?;
    assert_eq!(local.to_vec()?, [1, 0, 2, 0, 3, 0]);
    let open = job.barrier_all(local)?;
    let mut back = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
    job.get_strided((&open, 2), (&mut back, 1), job.next())?;
    assert_eq!(back.to_vec()?, [1, 2, 3]);
    job.barrier_all(open)?;
    assert!(matches!(job.atomics(), Err(Error::Unsupported { .. })));
    Ok(())
}

fn phases(job: &ShmemContext) -> Result<(), Error> {
    let left = job.previous().rank() as u64;
    let mut halo = job.create_buffer_zeroed::<u64>(64)?;
    let mut open = job.barrier_all(job.create_buffer_zeroed::<u64>(64)?)?;
    let mut row = job.context().enqueue_create_buffer_zeroed::<u64>(64)?;
    for step in 0..200u64 {
        row.enqueue_fill(1000 * step + job.my_pe() as u64)?;
        job.put(&row, &open, job.next())?;
        (open, halo) = job.barrier_all((halo, open))?;
        if step % 50 == 49 {
            assert_eq!(halo.to_vec()?, [1000 * step + left; 64]);
        }
    }
    job.barrier_swap(&mut halo, &mut open)?;
    Ok(())
}

fn signals(job: &ShmemContext) -> Result<(), Error> {
    let n = job.n_pes() as u64;
    let (arrived, ready) = (job.create_signal(Add)?, job.create_signal(Set)?);
    for pe in job.iter() {
        arrived.add(pe, 1)?;
    }
    arrived.wait_until(Cmp::Ge, n)?;
    assert_eq!(arrived.fetch()?, n);
    let open = job.barrier_all(job.create_buffer_zeroed::<u32>(512)?)?;
    let mine = job.context().enqueue_create_buffer::<u32>(512)?.enqueue_fill(job.my_pe() as u32)?;
    job.put_signal(&mine, &open, job.next(), &ready, 5)?;
    ready.wait_until(Cmp::Eq, 5)?;
    // SAFETY: the one put into this copy came before its signal.
    let local = unsafe { open.assume_local() };
    assert_eq!(local.to_vec()?, [job.previous().rank() as u32; 512]);
    Ok(())
}

fn collectives(job: &ShmemContext) -> Result<(), Error> {
    let (me, n) = (job.my_pe() as u32, job.n_pes());
    let world = job.world();
    let mine = job.create_buffer::<u32>(3000)?.enqueue_fill(me + 1)?;
    let mut all = job.create_buffer_zeroed::<u32>(3000)?;
    world.reduce(Sum, &mine, &mut all)?;
    assert_eq!(all.to_vec()?, vec![(n * (n + 1) / 2) as u32; 3000]);
    world.broadcast(job.pe(n - 1)?, &mine, &mut all)?;
    assert_eq!(all.to_vec()?, vec![n as u32; 3000]);
    let mut gathered = job.create_buffer_zeroed::<u32>(3000 * n)?;
    world.fcollect(&mine, &mut gathered)?;
    assert!(gathered.to_vec()?.chunks(3000).enumerate().all(|(pe, part)| part.iter().all(|v| *v == pe as u32 + 1)));
    let values: Vec<f64> = (0..n).map(|to| f64::from(me) * 10.0 + to as f64).collect();
    let parts = job.create_buffer::<f64>(n)?.copy_from_slice(&values)?;
    let mut swapped = job.create_buffer_zeroed::<f64>(n)?;
    world.alltoall(&parts, &mut swapped)?;
    assert_eq!(swapped.to_vec()?, (0..n).map(|from| from as f64 * 10.0 + f64::from(me)).collect::<Vec<_>>());
    world.reduce(Max, &parts, &mut swapped)?;
    assert_eq!(swapped.to_vec()?, (0..n).map(|to| (n - 1) as f64 * 10.0 + to as f64).collect::<Vec<_>>());
    let mut part = job.create_buffer_zeroed::<f64>(1)?;
    world.reduce_scatter(Max, &parts, &mut part)?;
    assert_eq!(part.to_vec()?, [(n - 1) as f64 * 10.0 + f64::from(me)]);

    let even = world.split_strided(Even, 0, 2, n.div_ceil(2))?;
    assert_eq!(even.is_some(), me % 2 == 0);
    if let Some(even) = even {
        match even.reduce(Sum, &mine, &mut all) {
            Ok(()) => {
                let sum: usize = (0..n).step_by(2).map(|pe| pe + 1).sum();
                assert_eq!(all.to_vec()?, vec![sum as u32; 3000]);
                eprintln!("PE {me}: teams");
            }
            // Where PEs share a GPU without MPS the library has none.
            Err(Error::Unsupported { .. }) => eprintln!("PE {me}: no teams here"),
            Err(error) => return Err(error),
        }
    }
    let (row, column) = world.split_2d(Row, Column, 2)?;
    assert_eq!((row.me().rank(), column.me().rank()), (me as usize % 2.min(n), me as usize / 2.min(n)));
    Ok(())
}

fn memory(job: &ShmemContext) -> Result<(), Error> {
    let mut kept = Vec::new();
    for round in 0..20usize {
        let buffers: Vec<_> = (0..4).map(|at| job.create_buffer::<u8>(1000 * (at + 1))).collect::<Result<_, _>>()?;
        // Each PE drops in an order of its own, and keeps one for a while.
        let mut buffers: Vec<_> = buffers.into_iter().map(Some).collect();
        for at in 0..4 {
            let at = (at + job.my_pe()) % 4;
            if at == round % 4 { kept.push(buffers[at].take()) } else { drop(buffers[at].take()) }
        }
        if round % 7 == 6 {
            kept.clear();
            job.reclaim()?;
        }
    }
    assert!(matches!(job.create_buffer::<u8>(1 << 46), Err(Error::OutOfMemory { .. })));
    assert!(matches!(job.create_buffer::<u64>(usize::MAX / 4), Err(Error::TooLarge { .. })));
    let after = job.create_buffer::<u8>(100)?.enqueue_fill(3)?;
    assert_eq!(after.to_vec()?, [3; 100]);
    Ok(())
}

#[test]
#[ignore = "a process that another test starts"]
fn pe_everything() {
    let done = shmem::launch(pes(), |job| {
        assert_eq!(job.engine(), "nvshmem");
        moves(job)?;
        phases(job)?;
        signals(job)?;
        collectives(job)?;
        memory(job)
    });
    done.unwrap();
}

#[test]
fn everything() {
    succeeds("pe_everything");
}

#[escrow::kernels(struct Ring, image)]
// SAFETY: the image is that of `tests/nvshmem/ring.cu`. `store`'s thread `i` writes `there[i]`, for `i < n`; `ring` is for its
// callers to launch well.
unsafe extern "kernel" {
    /// # Safety
    /// At least `n` threads, `n` elements in both, and `to` is a PE of the job.
    unsafe fn ring(mine: &[f32], inbox: PeerSpan<'_, f32>, n: u32, to: i32);
    #[launch(cover(mine))]
    #[requires(mine.len() == there.len())]
    safe fn store(mine: &[f32], there: PeerSpan<'_, f32>, #[len_of(mine)] n: u32);
}

#[test]
#[ignore = "a process that another test starts"]
fn pe_rings() {
    let image = std::fs::read(std::env::var_os("ESCROW_TEST_RING_CUBIN").unwrap()).unwrap();
    let done = shmem::launch(pes(), |job| {
        // SAFETY: the image is whole, and has what is declared.
        let kernels = unsafe { Ring::load_image(job.context().device(), &image) }?;
        let mine = job.create_buffer::<f32>(1000)?.enqueue_fill(job.my_pe() as f32 + 1.0)?;
        let open = job.barrier_all(job.create_buffer_zeroed::<f32>(1000)?)?;
        let inbox = job.peer(&open, job.me())?.expect("this PE's own copy");
        let (launch, to) = (Launch::new(4, 256), job.next().rank() as i32);
        // SAFETY: 1024 threads for 1000 elements, and a PE of the job.
        unsafe { kernels.ring(job.context(), launch, &mine, inbox, 1000, to) }?;
        let inbox = job.barrier_all(open)?;
        assert_eq!(inbox.to_vec()?, [job.previous().rank() as f32 + 1.0; 1000]);
        let open = job.barrier_all(inbox)?;
        let there = job.peer(&open, job.next())?.expect("PEs of one host");
        kernels.store(job.context(), &mine, there)?;
        let inbox = job.barrier_all(open)?;
        assert_eq!(inbox.to_vec()?, [2.0 * (job.previous().rank() as f32 + 1.0); 1000]);
        Ok(())
    });
    done.unwrap();
}

#[test]
fn kernels_call_nvshmem_and_write_other_pes_memory() {
    if std::env::var_os("ESCROW_TEST_RING_CUBIN").is_none() {
        eprintln!("skipped: `ESCROW_TEST_RING_CUBIN` does not name the kernels of `tests/nvshmem/ring.cu`");
        return;
    }
    succeeds("pe_rings");
}

#[test]
#[ignore = "a process that another test starts"]
fn pe_panics() {
    let _ = shmem::launch(pes(), |job| {
        assert_ne!(job.my_pe(), 1, "this one does not go on");
        job.barrier_all(())?;
        Ok(job.context().synchronize(())?)
    });
}

#[test]
fn a_panic_ends_the_job_with_its_message() {
    let start = Instant::now();
    let Some((ok, text)) = run("pe_panics", 2, &[]) else { return };
    assert!(!ok && text.contains("this one does not go on"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(30), "it hung");
}

#[test]
#[ignore = "a process that another test starts"]
fn pe_exits() {
    let _ = shmem::launch(pes(), |job| {
        if job.my_pe() == pes() - 1 {
            std::process::exit(0);
        }
        job.barrier_all(())?;
        Ok(job.context().synchronize(())?)
    });
}

#[test]
fn a_process_that_exits_ends_the_job() {
    for pes in [1, 2] {
        let start = Instant::now();
        let Some((ok, text)) = run("pe_exits", pes, &[]) else { return };
        assert!(!ok && text.contains("exits in the middle of the job"), "{text}");
        assert!(start.elapsed() < Duration::from_secs(30), "it hung");
    }
}

#[test]
#[ignore = "a process that another test starts"]
fn pe_diverges() {
    let _ = shmem::launch(pes(), |job| {
        job.create_buffer_zeroed::<f32>(4 + job.my_pe())?;
        Ok(())
    });
}

#[test]
fn lengths_that_differ_end_the_job_and_name_both_calls() {
    let Some((ok, text)) = run("pe_diverges", 2, &[]) else { return };
    assert!(!ok && text.contains("4 elements of 4 bytes") && text.contains("5 elements of 4 bytes"), "{text}");
}

#[test]
fn without_the_library_the_error_says_what_to_set() {
    if Device::cuda(0).is_err() {
        eprintln!("skipped: there is no GPU");
        return;
    }
    if std::env::var_os("ESCROW_NVSHMEM").is_some() {
        eprintln!("skipped: the library is there");
        return;
    }
    let device = Device::cuda(0).unwrap();
    let error = shmem::launch_on(escrow::Dyn, device, 1, |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("ESCROW_NVSHMEM") && error.contains("libnvshmem_host.so.3"), "{error}");
}
