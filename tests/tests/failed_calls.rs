//! What a call that failed hands back is there at once, whatever the stream is doing.

use escrow::{Device, DeviceContext, Error, Fault, HostBuffer};
use escrow_tests::{fail, hold};

/// A context, and a device buffer of another length than the host buffers below.
fn setup() -> Result<(DeviceContext, escrow::DeviceBuffer<u8>), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let dev = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
    Ok((ctx, dev))
}

/// Broken on purpose: `InFlight::new` with `State::Asked` makes this hang.
#[test]
fn lands_while_the_stream_is_held() -> Result<(), Error> {
    let (ctx, mut dev) = setup()?;
    let held = hold(&ctx)?;
    let host = ctx.create_host_buffer_from(&[1u8, 2])?;
    let Err(Fault { error: Error::Length { dst: 3, src: 2, .. }, value }) = dev.enqueue_copy_from(host) else {
        panic!("the lengths differ")
    };
    let host = ctx.synchronize(value)?;
    assert_eq!(host.as_span(), [1, 2]);

    // Through containers, a record, and another stream.
    let Err(Fault { value, .. }) = dev.enqueue_copy_from(host) else { panic!("the lengths differ") };
    let [value] = ctx.synchronize([value]).map(|[host]| [dev.enqueue_copy_from(host)])?;
    let Err(Fault { value, .. }) = value else { panic!("the lengths differ") };
    let host = ctx.record(value)?.wait()?;
    let Err(Fault { value, .. }) = dev.enqueue_copy_from(host) else { panic!("the lengths differ") };
    let other = ctx.fork()?;
    let host = value.reassign_ownership_to(&other)?.synchronize()?;
    assert_eq!(host.as_span(), [1, 2]);
    drop(held);
    ctx.synchronize(())?;
    Ok(())
}

#[test]
fn lands_on_a_stream_that_failed_and_does_not_fail_another() -> Result<(), Error> {
    let (ctx, mut dev) = setup()?;
    fail(&ctx)?;
    assert!(matches!(ctx.synchronize(()), Err(Fault { error: Error::StreamFailed(_), .. })));
    let host = ctx.create_host_buffer_from(&[1u8, 2])?;
    let Err(Fault { value, .. }) = dev.enqueue_copy_from(host) else { panic!("the lengths differ") };
    let host = value.synchronize()?;
    let Err(Fault { value, .. }) = dev.enqueue_copy_from(host) else { panic!("the lengths differ") };
    let other = ctx.fork()?;
    let host = value.reassign_ownership_to(&other)?.synchronize()?;
    assert_eq!(host.as_span(), [1, 2]);
    other.synchronize(())?;
    Ok(())
}

/// A value that an operation was enqueued on is waited for, also after a later call on it failed.
#[test]
fn waits_for_what_was_enqueued_before() -> Result<(), Error> {
    let (ctx, mut dev) = setup()?;
    let host = ctx.create_host_buffer::<u8>(2)?.enqueue_fill(7)?;
    let Err(Fault { value, .. }) = dev.enqueue_copy_from(host) else { panic!("the lengths differ") };
    assert_eq!(value.synchronize()?.as_span(), [7, 7]);

    let ctx = DeviceContext::new(Device::cpu_chaos(3))?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
    for _ in 0..100 {
        let host = ctx.create_host_buffer_from(&[1u8, 1])?.enqueue_fill(7)?;
        let Err(Fault { value, .. }) = dev.enqueue_copy_from(host) else { panic!("the lengths differ") };
        assert_eq!(ctx.synchronize((value,))?.0.as_span(), [7, 7]);
    }
    Ok(())
}

/// One value in flight among idle ones makes the wait a wait.
#[test]
fn a_mixed_container_waits() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu_chaos(5))?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(3)?;
    for _ in 0..100 {
        let idle = ctx.create_host_buffer_from(&[1u8, 1])?;
        let Err(Fault { value: idle, .. }) = dev.enqueue_copy_from(idle) else { panic!("the lengths differ") };
        let flying = ctx.create_host_buffer_from(&[1u8, 1])?.enqueue_fill(7)?;
        let [idle, flying] = ctx.synchronize([idle, flying])?;
        assert_eq!((idle.as_span(), flying.as_span()), (&[1, 1][..], &[7, 7][..]));
    }
    Ok(())
}

#[test]
fn nothing_is_allocated_before_streams_are_compared() -> Result<(), Error> {
    let a = DeviceContext::new(Device::cpu())?;
    let b = a.fork()?;
    let src = a.enqueue_create_buffer_zeroed::<u8>(8)?;
    let wrong = b.enqueue_create_buffer_from(&src).map(drop).map_err(Error::from);
    assert!(matches!(wrong, Err(Error::WrongStream { .. })));
    Ok(())
}

#[test]
fn host_memory_is_taken_back_on_any_cpu_device() -> Result<(), Error> {
    let (here, there) = (DeviceContext::new(Device::cpu())?, DeviceContext::new(Device::cpu_chaos(1))?);
    let ptr = here.create_host_buffer_from(&[5u8; 4])?.reassign_ownership_to(&there)?.take_ptr()?;
    // SAFETY: the one time that the pointer is taken back; nothing is pending on the memory.
    let host = unsafe { HostBuffer::from_ptr(&there, ptr, 4) }?;
    assert_eq!(host.as_span(), [5; 4]);
    Ok(())
}
