//! Giving memory away and getting it back.

use std::mem;

use escrow::{Device, DeviceBuffer, DeviceContext, Error, HostBuffer};

escrow::streams! { Upload, Compute }

struct Model {
    weights: DeviceBuffer<f32, Upload>,
}

fn main() -> Result<(), Error> {
    let up = DeviceContext::tagged(Upload, Device::cpu())?;
    let compute = up.fork_tagged(Compute)?;

    // A pointer leaves its buffer, and comes back.
    let dev = up.enqueue_create_buffer_from(up.create_host_buffer_from(&[1.0f32; 8])?)?.0;
    let ptr = dev.take_ptr();
    let same = ptr;
    // SAFETY: the pointer is taken back once, on the stream that all work on the memory is on.
    let dev = unsafe { DeviceBuffer::from_ptr(&up, same, 8) }?;

    // A host buffer that goes through a pointer is read when it is back; a slice of known length needs no pointer.
    let host = up.create_host_buffer_from(&[1.0f32; 8])?;
    let ptr = host.take_ptr()?;
    // SAFETY: as above.
    let host = unsafe { HostBuffer::from_ptr(&up, ptr, 8) }?;
    assert_eq!(host[7], 1.0);
    let mut values = [0.0f32; 8];
    dev.copy_to_slice(&mut values)?;
    assert_eq!(values, *host);

    // A clone of a context is the same stream, and a second owner of memory is a shared one.
    let same = up.clone();
    let (one, other) = (host.into_shared(), same);
    assert_eq!(one.clone()[0], one[0]);
    other.synchronize(())?;

    // A handoff: from here on the buffer is `Compute`'s.
    let mut dev = up.handoff(dev, &compute)?;
    dev.enqueue_fill(2.0)?;

    // Read-only and shared, then writable again.
    let shared = dev.into_shared()?;
    let there = shared.share_with(&up)?;
    let copy = up.enqueue_create_buffer_from(&there)?;
    drop(there);
    let mut dev = shared.try_unshare()?;
    dev.enqueue_fill(3.0)?;
    assert_eq!(copy.to_vec()?, [2.0; 8]);

    // A copy of device memory is a buffer of its own.
    let clone = compute.enqueue_create_buffer_from(&dev)?;
    assert_eq!(clone.to_vec()?, dev.to_vec()?);
    let host = up.create_host_buffer_from(&[1.0f32; 8])?;
    let mut copy = up.create_host_buffer_from(&host)?;
    copy[0] = 2.0;
    assert_eq!(host[0], 1.0);

    // Buffers in fields: lent to another stream, or replaced.
    let mut model = Model { weights: up.enqueue_create_buffer_zeroed(4)? };
    model.weights.on(&compute, |weights| weights.enqueue_fill(1.0))?;
    let weights = mem::replace(&mut model.weights, DeviceBuffer::empty(&up));
    let weights = up.handoff(weights, &compute)?;
    model.weights = compute.handoff(weights, &up)?;
    assert_eq!(model.weights.to_vec()?, [1.0; 4]);

    // The context of a buffer that moves is cloned first.
    let host = up.create_host_buffer_from(&[4.0f32; 4])?;
    let ctx = host.context().clone();
    let (dev, host) = ctx.enqueue_create_buffer_from(host)?;
    let mut host = ctx.synchronize(host)?;
    host[0] = 5.0;

    // Destinations behind `&mut`: reborrow, or make them the receiver.
    let mut other = up.enqueue_create_buffer_zeroed::<f32>(4)?;
    let dst = &mut other;
    dev.enqueue_copy_to(&mut *dst)?;
    dst.enqueue_copy_from(&dev)?;
    assert_eq!(other.to_vec()?, [4.0; 4]);

    // Halves that own their memory.
    let (low, high) = host.into_split_at(1)?;
    assert_eq!((low[0], high[0]), (5.0, 4.0));
    let host = HostBuffer::rejoin([low, high])?;

    // Shared host memory is an upload source by reference, on any stream.
    let shared = host.into_shared();
    other.enqueue_copy_from(&shared)?;
    up.synchronize(())?;
    let mut host = shared.try_unshare()?;
    host[1] = 6.0;
    assert_eq!(other.to_vec()?, [5.0, 4.0, 4.0, 4.0]);
    Ok(())
}
