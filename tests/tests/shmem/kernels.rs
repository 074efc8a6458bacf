//! Symmetric buffers as operands of kernels and copies.

use escrow::{
    Device, DevicePassable, DeviceSpan, Dyn, Error, KernelSpanMut, Operation, Share, ShmemBuffer, StreamTag, shmem,
};

use super::{everywhere, local};

/// A step from one symmetric buffer to another.
#[derive(Debug, DevicePassable)]
pub struct Step<'a, S: StreamTag = Dyn> {
    src: DeviceSpan<'a, u32, S>,
    dst: ShmemBuffer<'a, u32, S>,
    #[device(len_of(src))]
    n: u32,
}

#[escrow::kernels(pub struct Kernels)]
unsafe extern "kernel" {
    #[cpu(add)]
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn add(x: &[u32], y: &mut [u32]);

    #[cpu(double)]
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn double(x: &[u32], #[out(each)] out: &mut [u32]);

    #[cpu(step)]
    #[launch(cover(p.dst))]
    #[requires(p.src.len() == p.dst.len())]
    safe fn step<S>(p: Step<'_, S>);
}

fn add(share: &mut Share<'_>, x: &[u32], y: KernelSpanMut<'_, u32>) {
    let range = share.range();
    y.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y += *x);
}

fn double(share: &mut Share<'_>, x: &[u32], out: KernelSpanMut<'_, u32>) {
    let range = share.range();
    out.own(share).iter_mut().zip(&x[range]).for_each(|(out, x)| *out = 2 * *x);
}

fn step(share: &mut Share<'_>, p: StepBody<'_>) {
    assert_eq!(p.n as usize, p.src.len());
    let range = share.range();
    p.dst.own(share).iter_mut().zip(&p.src[range]).for_each(|(dst, src)| *dst = 10 * *src);
}

#[test]
fn kernels_take_symmetric_buffers() {
    everywhere(|job| {
        let (ctx, me) = (job.context(), job.my_pe() as u32);
        let k = Kernels::load(ctx.device())?;
        for len in [0, 1, 5, 1000] {
            let x = local(job, &vec![me + 1; len])?;
            let mut y = local(job, &vec![1; len])?;
            k.add(ctx, &x, &mut y)?;
            k.add(ctx, &x.as_span(), &mut y.as_span_mut())?;
            assert_eq!(y.to_vec()?, vec![2 * me + 3; len]);
            let mut z: ShmemBuffer<'_, u32> = k.double(ctx, &y, job.create_buffer::<u32>(len)?)?;
            assert_eq!(z.to_vec()?, vec![4 * me + 6; len]);
            k.double(ctx, &x, &mut z)?;
            assert_eq!(z.to_vec()?, vec![2 * me + 2; len]);
            // A struct takes the buffer, and it is dropped behind the launch: freed when all have, behind the kernel.
            let zeros = job.create_buffer_zeroed::<u32>(len)?;
            let params = Step { src: x.as_span(), dst: zeros, n: 0 };
            k.step(ctx, params)?;
            job.reclaim()?;
            assert_eq!(x.to_vec()?, vec![me + 1; len]);
        }
        // Written by a kernel, then read by the others.
        let mut table = job.create_buffer_zeroed::<u32>(4)?;
        k.add(ctx, &local(job, &[me, 1, 2, 3])?, &mut table)?;
        let open = job.barrier_all(table)?;
        assert_eq!(job.g::<u32, _>(&open, 0, job.next())?, job.next().rank() as u32);
        job.barrier_all(open)?;
        Ok(())
    });
}

#[test]
fn copies_to_and_from_all_kinds() {
    everywhere(|job| {
        let (ctx, me) = (job.context(), job.my_pe() as u32);
        let host = ctx.create_host_buffer_from(&[me, 1, 2])?;
        let (mut a, host) = job.create_buffer::<u32>(3)?.enqueue_copy_from(host)?;
        let host = a.enqueue_copy_to(host)?;
        assert_eq!(ctx.synchronize(host)?[..], [me, 1, 2]);
        let dev = ctx.enqueue_create_buffer_from(&a)?;
        a.enqueue_fill(7)?;
        assert_eq!(a.to_vec()?, [7; 3]);
        a.enqueue_copy_from(&dev)?;
        let b = job.create_buffer::<u32>(3)?.enqueue_copy_from(&a)?;
        assert_eq!(b.to_vec()?, [me, 1, 2]);
        let shared = ctx.create_host_buffer_from(&[4u32, 5, me])?.into_shared();
        a.enqueue_copy_from(&shared)?;
        let mut out = [0u32; 3];
        a.copy_to_slice(&mut out)?;
        assert_eq!(out, [4, 5, me]);
        let (input, mut output) = ([8u32, 9, me], [0u32; 3]);
        ctx.scope(|s| {
            a.enqueue_copy_from(s.lend(&input))?;
            a.enqueue_copy_to(s.lend_mut(&mut output))?;
            Ok(())
        })?;
        assert_eq!(output, input);
        let raw = a.into_uninit();
        assert!(matches!(raw.copy_from_slice(&[1]).unwrap_err().error, Error::Length { .. }));
        Ok(())
    });
}

/// Symmetric memory of a stream is not another stream's.
#[test]
fn symmetric_memory_is_of_the_jobs_stream() {
    everywhere(|job| {
        let other = job.context().fork()?;
        let k = Kernels::load(other.device())?;
        let x = job.create_buffer_zeroed::<u32>(2)?;
        let mut y = job.create_buffer_zeroed::<u32>(2)?;
        assert!(matches!(k.add(&other, &x, &mut y), Err(Error::WrongStream { op: Operation::Launch })));
        let mut plain = other.enqueue_create_buffer_zeroed::<u32>(2)?;
        assert!(matches!(plain.enqueue_copy_from(&x), Err(fault) if matches!(fault.error, Error::WrongStream { .. })));
        // A copy of the job's own goes there by handoff.
        let copy = job.context().enqueue_create_buffer_from(&x)?;
        assert_eq!(job.context().handoff(copy, &other)?.to_vec()?, [0; 2]);
        Ok(())
    });
}

/// A job's stream may have a name, and then all of its types do.
#[test]
fn named_streams() {
    escrow::streams! { Compute }
    let sums = shmem::launch_on(Compute, Device::cpu_chaos(9), 3, |job| {
        let mine: ShmemBuffer<'_, u64, Compute> = job.create_buffer(1)?.enqueue_fill(job.my_pe() as u64)?;
        let mut all = job.create_buffer_zeroed(1)?;
        job.world().reduce(shmem::Sum, &mine, &mut all)?;
        Ok(all.to_vec()?[0])
    });
    assert_eq!(sums.unwrap(), [3, 3, 3]);
}
