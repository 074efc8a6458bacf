//! Borrowed host memory, for as long as a closure runs.

use escrow::{Device, DeviceContext, Error};

escrow::streams! { Upload, Compute }

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
    let values = vec![1.0f32; 8];
    let mut out = [0.0f32; 8];
    ctx.scope(|s| {
        dev.enqueue_copy_from(s.lend(&values))?;
        dev.enqueue_copy_to(s.lend_mut(&mut out))?;
        Ok(())
    })?;
    assert_eq!(out, [1.0; 8]); // when the scope is over

    // What is made for one copy gets a name before the scope.
    let ones = vec![1.0; dev.len()];
    ctx.scope(|s| Ok(dev.enqueue_copy_from(s.lend(&ones))?))?;

    // Registered memory, which the device itself writes: read when the scope is over.
    ctx.scope(|s| Ok(dev.enqueue_copy_to(&mut s.register(&mut out)?)?))?;
    assert_eq!(out, [1.0; 8]);

    // Parts of one slice, each lent once.
    let (low, high) = out.split_at_mut(4);
    let (span_low, span_high) = dev.as_span().split_at(4)?;
    ctx.scope(|s| {
        span_low.enqueue_copy_to(s.lend_mut(low))?;
        span_high.enqueue_copy_to(s.lend_mut(high))?;
        Ok(())
    })?;

    // Read in one scope, written by the host, read in another.
    ctx.scope(|s| Ok(dev.enqueue_copy_from(s.lend(&out))?))?;
    out[0] = 2.0;
    ctx.scope(|s| Ok(dev.enqueue_copy_from(s.lend(&out))?))?;
    assert_eq!(dev.to_vec()?[..2], [2.0, 1.0]);

    // On the stream that has the buffer.
    let up = DeviceContext::tagged(Upload, Device::cpu())?;
    let compute = up.fork_tagged(Compute)?;
    let mut dev = compute.enqueue_create_buffer_zeroed::<f32>(8)?;
    compute.scope(|s| Ok(dev.enqueue_copy_from(s.lend(&out))?))?;
    let made = up.scope(|s| Ok(up.enqueue_create_buffer_from(s.lend(&values))?))?;
    assert_eq!(made.to_vec()?, values);
    Ok(())
}
