//! SHMEM: phases, remote operations, signals, teams and collectives, on the engine at hand.

use escrow::shmem::{Add, And, Cmp, Max, Set, Sum};
use escrow::{
    Device, DeviceBuffer, DeviceContext, DevicePassable, DeviceSpan, Dyn, Error, Exposed, Flip, KernelSpanMut, Local,
    Remote, Share, ShmemBuffer, ShmemContext, StreamTag, shmem,
};

escrow::streams! { Upload }
escrow::teams! { Row, Column }

#[derive(DevicePassable)]
struct Params<'a, S: StreamTag = Dyn> {
    table: DeviceSpan<'a, f32, S>,
    out: ShmemBuffer<'a, f32, S>,
}

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(add)]
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn add(x: &[f32], y: &mut [f32]);
    #[cpu(ones)]
    #[launch(cover(y))]
    safe fn ones(#[out(each)] y: &mut [f32]);
    #[cpu(copy)]
    #[launch(cover(p.out))]
    #[requires(p.table.len() == p.out.len())]
    safe fn copy<S>(p: Params<'_, S>);
}

fn add(share: &mut Share<'_>, x: &[f32], y: KernelSpanMut<'_, f32>) {
    let range = share.range();
    y.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y += x);
}

fn ones(share: &mut Share<'_>, y: KernelSpanMut<'_, f32>) {
    y.own(share).fill(1.0);
}

fn copy(share: &mut Share<'_>, p: ParamsBody<'_>) {
    let range = share.range();
    p.out.own(share).copy_from_slice(&p.table[range]);
}

/// For memory of any kind that others reach.
fn ring(job: &ShmemContext, src: &DeviceBuffer<f32>, to: &impl Remote<Elem = f32, Tag = Dyn>) -> Result<(), Error> {
    job.put(src, to, job.next())
}

/// For values of any kind that have phases.
fn step<V: Flip>(job: &ShmemContext, values: V) -> Result<V::Flipped, Error> {
    job.barrier_all(values)
}

fn length(table: &(impl Local + std::fmt::Debug)) -> usize {
    format!("{table:?}").len()
}

/// Buffers in fields change places.
struct Halo<'job> {
    mine: ShmemBuffer<'job, f32>,
    open: Exposed<ShmemBuffer<'job, f32>>,
}

fn phases(job: &ShmemContext) -> Result<(), Error> {
    let src = job.context().enqueue_create_buffer::<f32>(8)?.enqueue_fill(job.my_pe() as f32)?;
    let mut halo = job.create_buffer_zeroed::<f32>(8)?;
    let mut open = step(job, job.create_buffer::<f32>(8)?.enqueue_fill(0.0)?)?;
    for _ in 0..3 {
        ring(job, &src, &open)?;
        (open, halo) = job.barrier_all((halo, open))?;
        assert_eq!(halo.to_vec()?, [job.previous().rank() as f32; 8]);
    }
    let mut fields = Halo { mine: halo, open };
    job.p(5.0, &fields.open.slice(4..)?, 0, job.me())?;
    assert_eq!(job.g::<f32, _>(&fields.open, 4, job.me())?, 5.0);
    job.barrier_swap(&mut fields.mine, &mut fields.open)?;
    assert!(length(&fields.mine) > 0);

    // Local again, it is like a device buffer.
    let mine = job.barrier_all(fields.open)?;
    let mut dev = job.context().enqueue_create_buffer_zeroed::<f32>(8)?;
    dev.enqueue_copy_from(&mine)?;
    println!("{:?} {}", mine.to_vec()?, mine.to_vec()?[0]);
    let kernels = Kernels::load(job.context().device())?;
    let mut out = kernels.ones(job.context(), job.create_buffer::<f32>(8)?)?;
    kernels.add(job.context(), &mine, &mut out)?;
    kernels.copy(job.context(), Params { table: mine.as_span(), out })?;
    // From another stream, and to another one.
    let up = job.context().fork_tagged(Upload)?;
    let src = up.handoff(up.enqueue_create_buffer_zeroed::<f32>(8)?, job.context())?;
    let mut open = job.barrier_all(mine)?;
    job.put(&src, &open, job.next())?;
    job.get(&open, &mut dev, job.me())?;
    let dev = job.context().handoff(dev, &up)?;
    let _ = dev.into_shared()?;
    // SAFETY: what was put here is from before a barrier of all.
    let mine = unsafe { open.assume_local() };
    job.barrier_all(())?;
    // SAFETY: all PEs are behind the barrier.
    open = unsafe { mine.assume_exposed() };
    drop(open);
    Ok(())
}

fn words(job: &ShmemContext) -> Result<(), Error> {
    let (ready, arrived) = (job.create_signal(Set)?, job.create_signal(Add)?);
    let open = job.barrier_all(job.create_buffer_zeroed::<u64>(1)?)?;
    let one = job.context().enqueue_create_buffer::<u64>(1)?.enqueue_fill(1)?;
    job.put_signal(&one, &open, job.next(), &ready, 1)?;
    ready.wait_until(Cmp::Eq, 1)?;
    arrived.add(job.next(), 2)?;
    ready.set(job.me(), 3)?;
    arrived.wait_until(Cmp::Ge, 2)?;
    job.atomics()?.add(1u64, &open, 0, job.next())?;
    assert_eq!(job.barrier_all(open)?.to_vec()?, [2]);
    Ok(())
}

fn teams(job: &ShmemContext) -> Result<u32, Error> {
    let (row, column) = job.world().split_2d(Row, Column, 2)?;
    let mine = job.create_buffer::<u32>(2)?.enqueue_fill(1)?;
    let mut all = job.create_buffer_zeroed::<u32>(2)?;
    row.broadcast(row.pe(0)?, &mine, &mut all)?;
    column.reduce(Max, &mine, &mut all)?;
    job.world().reduce(And, &mine, &mut all)?;
    assert_eq!(all.to_vec()?, [1, 1]);
    job.world().reduce(Sum, &mine, &mut all)?;
    let open = job.barrier_all(job.create_buffer_zeroed::<u32>(1)?)?;
    job.p(1, &open, 0, row.to_world(row.me())?)?;
    job.barrier_all(open)?;
    // Values go to other threads, and out of the job.
    let values = all.to_vec()?;
    Ok(std::thread::scope(|s| s.spawn(move || values[0]).join().expect("it does not panic")))
}

fn main() -> Result<(), Error> {
    let sums = shmem::launch(2, |job| {
        phases(job)?;
        words(job)?;
        teams(job)
    })?;
    assert_eq!(sums, [2, 2]);
    let _: DeviceContext = DeviceContext::new(Device::cpu())?;
    Ok(())
}
