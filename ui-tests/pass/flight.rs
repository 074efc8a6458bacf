//! Host memory to a stream and back.

use escrow::{Device, DeviceContext, Error, Fault};

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;

    // In, through several operations, and back: keep what each call returns.
    let host = ctx.create_host_buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?;
    let host = dev.enqueue_copy_from(host)?;
    let mut other = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
    let host = other.enqueue_copy_from(host)?;
    println!("{host:?} has {} elements", host.len());
    let mut host = ctx.synchronize(host)?;
    host[0] = 5.0;
    println!("{host}");
    assert_eq!((host.first(), host.iter().sum::<f32>(), host.as_span().len()), (Some(&5.0), 14.0, 4));
    for x in &host {
        assert!(*x > 1.0);
    }
    host.fill(0.0);

    // Several with one wait; device memory needs none.
    let a = dev.enqueue_copy_to(host)?;
    let b = ctx.create_host_buffer::<f32>(4)?.enqueue_fill(2.0)?;
    let (a, b) = ctx.synchronize((a, b))?;
    assert_eq!((a[3], b[3]), (4.0, 2.0));
    ctx.synchronize(())?;

    // A point to wait for, behind which other work goes on.
    let recorded = ctx.record(dev.enqueue_copy_to(a)?)?;
    dev.enqueue_fill(9.0)?;
    let a = recorded.wait()?;
    assert_eq!(a[3], 4.0);

    // Slices and `Vec`s: a copy that waits, or a buffer of their own.
    let values = vec![7.0f32; 4];
    dev.copy_from_slice(&values)?;
    let mut out = [0.0f32; 4];
    dev.copy_to_slice(&mut out)?;
    assert_eq!(out[..], values[..]);
    let (dev, values) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&values)?)?;
    assert_eq!(dev.to_vec()?, values.synchronize()?[..]);

    // What a failed call took comes back.
    let short = ctx.create_host_buffer_from(&[1.0f32])?;
    let Err(Fault { error, value }) = dev.enqueue_copy_to(short) else { panic!("lengths differ") };
    println!("{error}");
    assert_eq!(ctx.synchronize(value)?[0], 1.0);

    // Not wanted back: said so.
    drop(ctx.create_host_buffer::<f32>(4)?.enqueue_fill(1.0)?);

    // Idle memory can be shared, and its pointer taken.
    let shared = b.into_shared();
    dev.into_uninit().enqueue_copy_from(&shared)?;
    ctx.synchronize(())?;
    let ptr = shared.try_unshare()?.take_ptr()?;
    // SAFETY: taken back once; nothing is pending on it.
    let host = unsafe { escrow::HostBuffer::from_ptr(&ctx, ptr, 4) }?;
    assert_eq!(host[0], 2.0);
    Ok(())
}
