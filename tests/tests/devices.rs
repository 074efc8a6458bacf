//! More than one device, what a device tells of itself, and memory that is registered; on CPU devices, so everywhere.

use std::panic::{AssertUnwindSafe, catch_unwind};

use escrow::{Device, DeviceBuffer, DeviceContext, DeviceSpan, Error, Fault, MemoryInfo, RegisteredSpan, StreamTag};
use escrow_tests::{Held, fail, hold};
use static_assertions::assert_impl_all;

escrow::streams! { There }

assert_impl_all!(RegisteredSpan<'static, f32>: Send, Sync);
assert_impl_all!(RegisteredSpan<'static, f32, There>: Send, Sync);
assert_impl_all!(MemoryInfo: Send, Sync, Copy, Eq);

/// Pairs of contexts: of two devices in every combination, and of one.
fn pairs() -> Result<Vec<(DeviceContext, DeviceContext<There>)>, Error> {
    let pair = |a: &Device, b: &Device| Ok((DeviceContext::new(a.clone())?, DeviceContext::tagged(There, b.clone())?));
    let (cpu, chaos, other) = (Device::cpu(), Device::cpu_chaos(1), Device::cpu_chaos(2));
    [(&cpu, &chaos), (&chaos, &cpu), (&chaos, &other), (&chaos, &chaos), (&cpu, &cpu)]
        .into_iter()
        .map(|(a, b)| pair(a, b))
        .collect()
}

/// Copies go one way after the other, with writes of both sides between them.
fn there_and_back<A: StreamTag, B: StreamTag>(a: &DeviceContext<A>, b: &DeviceContext<B>) -> Result<(), Error> {
    const LEN: usize = 10_000;
    let mut here = a.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(1)?;
    let mut there = b.enqueue_create_buffer::<u32>(LEN)?.enqueue_copy_peer(&here)?; // 1
    for round in 2..10u32 {
        here.enqueue_fill(round)?; // not before the copy has read it
        let other = b.enqueue_create_buffer_from(&there)?;
        there.enqueue_copy_peer(&here)?;
        assert_eq!(other.to_vec()?, vec![round - 1; LEN]);
    }
    // A source that is dropped with its copy pending, and whose memory is used again.
    let gone = a.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(77)?;
    there.enqueue_copy_peer(&gone)?;
    drop(gone);
    let next = a.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(78)?;
    assert_eq!(there.to_vec()?, vec![77; LEN]);
    here.enqueue_copy_peer(&there)?;
    there.enqueue_fill(0)?;
    assert_eq!((here.to_vec()?, next.to_vec()?), (vec![77; LEN], vec![78; LEN]));
    Ok(())
}

#[test]
fn peer_copies_are_ordered_both_ways() -> Result<(), Error> {
    for (a, b) in pairs()? {
        there_and_back(&a, &b)?;
        there_and_back(&b, &a)?;
        there_and_back(&a, &a)?; // one stream
    }
    Ok(())
}

#[test]
fn a_write_to_the_source_waits_for_the_copy() -> Result<(), Error> {
    let a = DeviceContext::new(Device::cpu())?;
    let b = a.fork()?;
    let mut src = a.enqueue_create_buffer::<u32>(4)?.enqueue_fill(1)?;
    let mut dst = b.enqueue_create_buffer_zeroed::<u32>(4)?;
    let held: Held = hold(&b)?;
    held.reached();
    dst.enqueue_copy_peer(&src)?;
    src.enqueue_fill(2)?;
    assert!(!a.record(())?.is_finished()?, "the fill overtook the copy, which has not begun");
    held.release();
    assert_eq!((dst.to_vec()?, src.to_vec()?), (vec![1; 4], vec![2; 4]));
    Ok(())
}

#[test]
fn what_a_peer_copy_refuses() -> Result<(), Error> {
    let a = DeviceContext::new(Device::cpu())?;
    let b = DeviceContext::new(Device::cpu_chaos(3))?;
    let src = a.enqueue_create_buffer_zeroed::<u32>(4)?;
    let mut dst = b.enqueue_create_buffer::<u32>(3)?.enqueue_fill(5)?;
    assert!(matches!(dst.enqueue_copy_peer(&src), Err(Error::Length { dst: 3, src: 4, .. })));
    let Err(Fault { error, value }) = b.enqueue_create_buffer::<u32>(3)?.enqueue_copy_peer(&src) else {
        panic!("lengths differ")
    };
    assert!(matches!(error, Error::Length { .. }));
    assert_eq!(value.len(), 3);
    assert_eq!(dst.to_vec()?, [5; 3]);
    DeviceBuffer::<u32>::empty(&b).enqueue_copy_peer(&DeviceBuffer::empty(&a))?;
    // Nothing else crosses.
    assert!(matches!(dst.enqueue_copy_from(&src), Err(Fault { error: Error::WrongDevice { .. }, .. })));
    let span: DeviceSpan<'_, u32> = src.as_span();
    assert!(matches!(dst.enqueue_copy_from(span), Err(Fault { error: Error::WrongDevice { .. }, .. })));
    assert!(matches!(src.reassign_ownership_to(&b), Err(Fault { error: Error::WrongDevice { .. }, .. })));
    Ok(())
}

#[test]
fn a_failed_source_fails_the_copy_and_not_the_reverse() -> Result<(), Error> {
    let (a, b) = (DeviceContext::new(Device::cpu())?, DeviceContext::new(Device::cpu_chaos(4))?);
    let src = a.enqueue_create_buffer_zeroed::<u32>(4)?;
    let mut dst = b.enqueue_create_buffer_zeroed::<u32>(4)?;
    fail(&b)?;
    dst.enqueue_copy_peer(&src)?;
    assert!(matches!(dst.to_vec(), Err(Error::StreamFailed(_))));
    assert_eq!(src.to_vec()?, [0; 4]); // was only read
    let c = DeviceContext::new(Device::cpu_chaos(5))?;
    let mut dst = c.enqueue_create_buffer_zeroed::<u32>(4)?;
    fail(&a)?;
    dst.enqueue_copy_peer(&src)?;
    assert!(matches!(dst.to_vec(), Err(Error::StreamFailed(_))));
    Ok(())
}

#[test]
fn registered_memory_is_source_and_destination() -> Result<(), Error> {
    for device in [Device::cpu(), Device::cpu_chaos(6)] {
        let ctx = DeviceContext::new(device)?;
        let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(3)?;
        let mut values = [1, 2, 3, 4, 5, 6];
        ctx.scope(|s| {
            let (mut low, mut high) = s.register(&mut values)?.split_at(3)?;
            dev.enqueue_copy_from(&low)?;
            dev.enqueue_copy_to(&mut high)?;
            let twice = ctx.enqueue_create_buffer_from(&low)?;
            dev.enqueue_fill(9)?;
            dev.enqueue_copy_to(&mut low)?;
            dev.enqueue_copy_from(&high)?;
            drop(twice);
            assert_eq!((low.len(), low.is_empty()), (3, false));
            assert!(matches!(low.split_at(4), Err(Error::Range { .. })));
            Ok(())
        })?;
        assert_eq!(values, [9, 9, 9, 1, 2, 3]);
        assert_eq!(dev.to_vec()?, [1, 2, 3]);
    }
    Ok(())
}

#[test]
fn a_scope_that_panics_waits_for_registered_memory() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu_chaos(7))?;
    let dev = ctx.enqueue_create_buffer::<u8>(1000)?.enqueue_fill(3)?;
    let mut values = vec![0u8; 1000];
    let caught = catch_unwind(AssertUnwindSafe(|| {
        ctx.scope(|s| -> Result<(), Error> {
            dev.enqueue_copy_to(&mut s.register(&mut values)?)?;
            std::panic::resume_unwind(Box::new("wanted"));
        })
    }));
    assert!(caught.is_err());
    assert_eq!(values, [3; 1000]);
    Ok(())
}

#[test]
fn registered_memory_stays_on_its_stream() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let mut elsewhere = ctx.fork()?.enqueue_create_buffer_zeroed::<u8>(2)?;
    let mut values = [0u8; 2];
    let used = ctx.scope(|s| Ok(elsewhere.enqueue_copy_from(&s.register(&mut values)?)?));
    assert!(matches!(used, Err(Error::WrongStream { .. })));
    Ok(())
}

#[test]
fn what_devices_tell() -> Result<(), Error> {
    let cpu = Device::cpu();
    let MemoryInfo { free, total, .. } = cpu.memory_info()?;
    assert!(free > 0 && free <= total, "{free} of {total}");
    assert_eq!((cpu.ordinal(), cpu.compute_capability(), cpu.driver_version()), (None, None, None));
    for device in Device::all() {
        assert!(!device.name().is_empty());
        assert!(device.memory_info()?.total > 0);
        assert_eq!(device.ordinal().is_some(), device.compute_capability().is_some());
    }
    Ok(())
}
