//! Values from one stream to another.

use escrow::{AnyStream, Device, DeviceBuffer, DeviceContext, Error, StreamTag};

escrow::streams! { Upload, Compute }

/// For buffers of any stream, as long as it is one.
fn copy<S: StreamTag>(src: &DeviceBuffer<f32, S>, dst: &mut DeviceBuffer<f32, S>) -> Result<(), Error> {
    dst.enqueue_copy_from(src)
        .map_err(Error::from)
}

/// For two streams, with the edge between them.
fn copy_over<A: StreamTag, B: StreamTag>(
    src: DeviceBuffer<f32, A>,
    dst: &mut DeviceBuffer<f32, B>,
) -> Result<DeviceBuffer<f32, B>, Error> {
    let to = dst.context().clone();
    let src = src.reassign_ownership_to(&to)?;
    copy(&src, dst)?;
    Ok(src)
}

fn main() -> Result<(), Error> {
    let up = DeviceContext::tagged(Upload, Device::cpu())?;
    let compute: DeviceContext<Compute> = up.fork_tagged(Compute)?;
    let plain: DeviceContext = up.fork()?;

    // The stream that has values hands them off.
    let (dev, host) = up.enqueue_create_buffer_from(up.create_host_buffer_from(&[1.0f32; 4])?)?;
    let (dev, host) = up.handoff((dev, host), &compute)?;
    let mut there = compute.enqueue_create_buffer_zeroed::<f32>(4)?;
    copy(&dev, &mut there)?;
    let dev = compute.handoff(dev, &plain)?;
    let dev = copy_over(dev, &mut there)?;
    let host = compute.synchronize(host)?;

    // Idle host memory joins any stream.
    let host = dev.reassign_ownership_to(&plain)?.enqueue_copy_to(host)?;
    let host = plain.synchronize(host)?;
    let host = host.reassign_ownership_to(&up)?;
    assert_eq!(host[..], [1.0; 4]);
    let _ = std::any::type_name::<AnyStream>();

    // One wait each on two streams; a value in flight finds its own.
    let a = up.create_host_buffer::<f32>(1)?.enqueue_fill(1.0)?;
    let b = compute.create_host_buffer::<f32>(1)?.enqueue_fill(2.0)?;
    assert_eq!((a.synchronize()?[0], compute.synchronize(b)?[0]), (1.0, 2.0));

    // Read on several streams.
    let table = up.enqueue_create_buffer_zeroed::<f32>(4)?.into_shared()?;
    let table_there = table.share_with(&compute)?;
    there.enqueue_copy_from(&table_there)?;
    let copy = compute.enqueue_create_buffer_from(&table_there)?;
    assert_eq!(copy.to_vec()?, table.to_vec()?);
    Ok(())
}
