//! Parts of device memory, one after the other.

use escrow::{Device, DeviceBuffer, DeviceContext, DeviceSpan, Error};

escrow::streams! { Upload, Compute }

/// A span of a buffer that the caller keeps.
fn tail(dev: &DeviceBuffer<f32, Upload>) -> Result<DeviceSpan<'_, f32, Upload>, Error> {
    dev.as_span().slice(4..)
}

fn main() -> Result<(), Error> {
    let up = DeviceContext::tagged(Upload, Device::cpu())?;
    let compute = up.fork_tagged(Compute)?;
    let mut dev = up.enqueue_create_buffer_zeroed::<f32>(8)?;

    // Write, then look.
    dev.enqueue_fill(1.0)?;
    let head = dev.as_span().slice(..4)?;
    assert_eq!(head.to_vec()?, [1.0; 4]);

    // Another buffer under the same name, once no span needs the first; and a span of a buffer that has a name.
    dev = up.enqueue_create_buffer_zeroed(8)?;
    let zeros = dev.as_span();
    assert_eq!(zeros.len(), 8);

    // Halves of one buffer: one written from the other.
    let (mut low, high) = dev.as_span_mut().split_at(4)?;
    low.enqueue_fill(2.0)?;
    let mut high = high;
    high.reborrow().enqueue_copy_from(low.as_span())?;
    high.enqueue_copy_from(&low.as_span())?;
    assert_eq!(tail(&dev)?.to_vec()?, [2.0; 4]);

    // A mutable span serves several copies by reference.
    let ones = up.enqueue_create_buffer_from(up.create_host_buffer_from(&[1.0f32; 8])?)?.0;
    let mut span = dev.as_span_mut();
    ones.enqueue_copy_to(&mut span)?;
    ones.enqueue_copy_to(span.reborrow())?;
    ones.enqueue_copy_to(span)?;

    // On another stream spans are taken there.
    dev.on(&compute, |there| there.as_span_mut().slice(1..3)?.enqueue_fill(7.0))?;
    assert_eq!(dev.as_span().slice(..4)?.to_vec()?, [1.0, 7.0, 7.0, 1.0]);
    let there = up.handoff(dev, &compute)?;
    assert_eq!(there.as_span().slice(1..2)?.to_vec()?, [7.0]);

    // Host memory: one view at a time.
    let mut host = up.create_host_buffer_from(&[0.0f32; 2])?;
    host.view_mut::<u32>()?[0] = 1.0f32.to_bits();
    host[1] = 2.0;
    let first = host.as_span()[0];
    host.as_span_mut()[1] = 2.0;
    let (dev, host) = up.enqueue_create_buffer_from(host)?;
    assert_eq!((first, dev.to_vec()?, up.synchronize(host)?[1]), (1.0, vec![1.0, 2.0], 2.0));
    Ok(())
}
