//! Single buffers: zero lengths, bad input, pieces, views and pointers. What random programs do not reach.

use escrow::{DType, Device, DeviceBuffer, DeviceContext, Dyn, Error, Fault, HostBuffer, Memory, StreamTag};

escrow::streams! { A, B }

/// The devices that every test here runs on: with chaos, what is enqueued stays pending as long as it can.
fn devices() -> Vec<Device> {
    #[allow(unused_mut)] // grows with the feature `cuda`
    let mut devices = vec![Device::cpu(), Device::cpu_chaos(1), Device::cpu_chaos(0x5EED)];
    #[cfg(feature = "cuda")]
    devices.extend(escrow_tests::gpu());
    devices
}

fn contexts() -> Vec<DeviceContext> {
    devices().into_iter().map(|device| DeviceContext::new(device).unwrap()).collect()
}

#[test]
fn zero_lengths_work_everywhere() {
    for ctx in contexts() {
        let other = ctx.fork().unwrap();
        let none: [u64; 0] = [];
        let mut host = ctx.create_host_buffer::<u64>(0).unwrap();
        host.copy_from_slice(&none);
        assert_eq!((host.len(), host.to_string().as_str()), (0, "HostBuffer([])"));
        let host = host.enqueue_fill(3).unwrap().synchronize().unwrap();
        let (mut dev, host) = ctx.enqueue_create_buffer_from(host).unwrap();
        let host = dev.enqueue_copy_to(host).unwrap();
        let host = dev.enqueue_copy_from(host).unwrap();
        let host = ctx.handoff(host, &other).unwrap();
        let host = other.record(host).unwrap().wait().unwrap();
        dev.enqueue_fill(1).unwrap();
        dev.copy_from_slice(&none).unwrap();
        dev.copy_to_slice(&mut []).unwrap();
        assert_eq!(dev.to_vec().unwrap(), none);
        assert_eq!(dev.as_span().chunks(3).unwrap().len(), 0);
        let (low, high) = dev.as_span_mut().split_at(0).unwrap();
        assert!(low.is_empty() && high.is_empty());
        assert!(dev.as_span().slice(0..0).unwrap().view::<u8>().unwrap().is_empty());
        dev.on(&other, |dev| dev.enqueue_fill(9)).unwrap();
        let raw = ctx.enqueue_create_buffer::<u64>(0).unwrap();
        let raw = raw.enqueue_copy_from(&dev).unwrap().into_uninit();
        assert!(raw.copy_from_slice(&none).unwrap().is_empty());
        let shared = dev.into_shared().unwrap();
        let there = shared.share_with(&other).unwrap();
        assert!(there.to_vec().unwrap().is_empty());
        drop(there);
        let dev = shared.try_unshare().unwrap();
        let ptr = dev.take_ptr();
        // SAFETY: taken a line above, and nothing was ever enqueued on no memory.
        let dev = unsafe { DeviceBuffer::from_ptr(&ctx, ptr, 0) }.unwrap();
        assert!(dev.is_empty());
        let pieces = host.into_chunks(5).unwrap();
        assert_eq!(pieces.len(), 1);
        let host = HostBuffer::rejoin(pieces).unwrap();
        let (low, high) = host.into_split_at(0).unwrap();
        let host = HostBuffer::rejoin([low, high]).unwrap();
        let ptr = host.take_ptr().unwrap();
        // SAFETY: as above.
        let host = unsafe { HostBuffer::from_ptr(&ctx, ptr, 0) }.unwrap();
        let shared = host.into_shared();
        let (copy, dev) = (shared.clone(), ctx.enqueue_create_buffer_from(&shared).unwrap());
        assert!(copy.as_span().is_empty() && dev.is_empty());
        drop((copy, dev));
        assert!(shared.try_unshare().unwrap().is_empty());
        let mut empty = [0u64; 0];
        ctx.scope(|s| {
            let mut dev = ctx.enqueue_create_buffer_from(s.lend(&none))?;
            dev.enqueue_copy_to(s.lend_mut(&mut empty))?;
            dev.enqueue_copy_from(s.lend::<u64>(&[]))?;
            Ok(())
        })
        .unwrap();
    }
}

/// A slice must be aligned even if it has no elements; an address of no bytes need not be.
#[test]
fn views_of_no_bytes_are_aligned() {
    fn check<T: DType>(slice: &[T]) {
        assert!(slice.is_empty() && slice.as_ptr().is_aligned());
    }
    for ctx in contexts() {
        let mut none = ctx.create_host_buffer::<u8>(0).unwrap();
        check(none.view::<u128>().unwrap());
        check(none.view_mut::<u64>().unwrap());
        let (_low, mut odd) = ctx.create_host_buffer::<u8>(3).unwrap().into_split_at(3).unwrap();
        check(odd.view::<u32>().unwrap());
        check(odd.view_mut::<u32>().unwrap());
        let shared = none.into_shared();
        check::<u64>(&shared.create_sub_buffer::<u64>(0, 0).unwrap());
        let shared = ctx.create_host_buffer::<u8>(9).unwrap().into_shared();
        let odd = shared.create_sub_buffer::<u8>(3, 5).unwrap();
        check::<u128>(&odd.create_sub_buffer::<u128>(0, 0).unwrap());
        let part = odd.create_sub_buffer::<u16>(2, 0).unwrap();
        drop((shared, odd));
        check::<u16>(&part.try_unshare().unwrap());
    }
}

fn pattern(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect()
}

/// Each wrong call is refused, says why, and leaves contents and streams as they were.
#[test]
fn bad_input_is_refused_and_nothing_is_lost() {
    for ctx in contexts() {
        let other = ctx.fork().unwrap();
        let values = pattern(8);
        let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(8).unwrap();
        dev.copy_from_slice(&values).unwrap();
        let mut foreign = other.enqueue_create_buffer_zeroed::<u32>(8).unwrap();
        let host = ctx.create_host_buffer_from(&[7u32; 5]).unwrap();

        // Lengths, both ways and in both roles.
        let Err(Fault { error, value: host }) = dev.enqueue_copy_from(host) else { panic!("5 elements into 8") };
        assert!(matches!(error, Error::Length { dst: 8, src: 5, .. }), "{error}");
        let Err(Fault { error, value: host }) = dev.enqueue_copy_to(host) else { panic!("8 elements into 5") };
        assert!(matches!(error, Error::Length { dst: 5, src: 8, .. }), "{error}");
        let host = ctx.synchronize(host).unwrap();
        assert_eq!(host[..], [7; 5]);
        assert!(matches!(dev.copy_to_slice(&mut [0; 9]), Err(Error::Length { dst: 9, src: 8, .. })));
        assert!(matches!(dev.copy_from_slice(&[0; 7]), Err(Error::Length { dst: 8, src: 7, .. })));
        let raw = ctx.enqueue_create_buffer::<u32>(3).unwrap();
        let Err(Fault { error, value: (raw, host) }) = raw.enqueue_copy_from(host) else { panic!("5 into 3") };
        assert!(matches!(error, Error::Length { dst: 3, src: 5, .. }), "{error}");
        let host = ctx.synchronize(host).unwrap();
        assert_eq!((host[..].len(), raw.len()), (5, 3));

        // Streams: a flight on one, the receiver on another.
        let flight = other.create_host_buffer_from(&values).unwrap().enqueue_fill(3).unwrap();
        let Err(Fault { error, value: flight }) = dev.enqueue_copy_from(flight) else { panic!("a stranger") };
        assert!(matches!(error, Error::WrongStream { .. }), "{error}");
        let Err(Fault { error, value: flight }) = ctx.synchronize(flight) else { panic!("a stranger") };
        assert!(matches!(error, Error::WrongStream { .. }), "{error}");
        let Err(Fault { error, value: flight }) = ctx.record(flight) else { panic!("a stranger") };
        assert!(matches!(error, Error::WrongStream { .. }), "{error}");
        let Err(Fault { error, value: flight }) = ctx.handoff(flight, &other) else { panic!("a stranger") };
        assert!(matches!(error, Error::WrongStream { .. }), "{error}");
        assert_eq!(flight.synchronize().unwrap()[..], [3; 8]);
        assert!(matches!(dev.enqueue_copy_from(&foreign), Err(Fault { error: Error::WrongStream { .. }, .. })));
        assert!(matches!(dev.enqueue_copy_to(&mut foreign), Err(Fault { error: Error::WrongStream { .. }, .. })));
        assert!(matches!(
            ctx.enqueue_create_buffer_from(&foreign),
            Err(Fault { error: Error::WrongStream { .. }, .. })
        ));

        // Ranges, chunks, views.
        let span = dev.as_span();
        assert!(matches!(span.slice(3..9), Err(Error::Range { start: 3, end: 9, len: 8 })));
        #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
        let backwards = span.slice(5..4);
        assert!(matches!(backwards, Err(Error::Range { start: 5, end: 4, len: 8 })));
        assert!(matches!(span.slice(..=usize::MAX), Err(Error::Range { .. })));
        assert!(matches!(span.split_at(9), Err(Error::Range { .. })));
        assert!(matches!(span.chunks(0).map(|_| ()), Err(Error::EmptyChunk)));
        assert!(matches!(span.slice(..7).unwrap().view::<u64>(), Err(Error::Layout { bytes: 28, size: 8, .. })));
        let off_by_4 = span.slice(1..3).unwrap().view::<u64>();
        assert!(matches!(off_by_4, Err(Error::Layout { bytes: 8, misalign: 4, .. })), "{off_by_4:?}");
        assert!(matches!(host.view::<u64>(), Err(Error::Layout { bytes: 20, .. })));
        let Err(Fault { error: Error::Range { .. }, value: host }) = host.into_split_at(6) else { panic!("6 of 5") };
        let Err(Fault { error: Error::EmptyChunk, value: host }) = host.into_chunks(0) else { panic!("chunks of 0") };
        let shared = host.into_shared();
        assert!(matches!(shared.create_sub_buffer::<u32>(2, 4), Err(Error::Range { start: 2, end: 6, len: 5 })));
        assert!(matches!(shared.create_sub_buffer::<u32>(usize::MAX, 2), Err(Error::Range { .. })));
        let odd = shared.create_sub_buffer::<u8>(1, 9).unwrap();
        assert!(matches!(odd.create_sub_buffer::<u16>(0, 2), Err(Error::Layout { misalign: 1, .. })));
        let Err(Fault { error, value: odd }) = odd.try_unshare() else { panic!("two handles") };
        assert!(matches!(error, Error::StillShared { holders: 2 }), "{error}");
        drop(odd);

        // Pointers.
        let host = shared.try_unshare().unwrap();
        let borrowed = host.unsafe_ptr();
        // SAFETY: refused, so nothing is taken.
        let refused = unsafe { HostBuffer::from_ptr(&ctx, borrowed, 5) };
        assert!(matches!(refused, Err(Error::NotTaken)));
        let (low, high) = host.into_split_at(2).unwrap();
        let Err(Fault { error: Error::Piece, value: low }) = low.take_ptr() else { panic!("a piece") };
        let Err(Fault { error: Error::NotAdjacent { index: 1 }, value: mut pieces }) = HostBuffer::rejoin([high, low])
        else {
            panic!("the wrong order")
        };
        pieces.reverse();
        let host = HostBuffer::rejoin(pieces).unwrap();
        assert_eq!(host[..], [7; 5]);
        // All elements, and still not alone.
        let (all, none) = host.into_split_at(5).unwrap();
        let Err(Fault { error: Error::Piece, value: all }) = all.take_ptr() else { panic!("a piece") };
        let host = HostBuffer::rejoin([all, none]).unwrap();
        let ptr = host.take_ptr().unwrap();
        // SAFETY: the first call is refused and takes nothing; the second takes back what was taken above.
        unsafe {
            let refused = HostBuffer::from_ptr(&ctx, ptr, 4);
            assert!(matches!(refused, Err(Error::Length { dst: 4, src: 5, .. })));
            assert_eq!(HostBuffer::from_ptr(&ctx, ptr, 5).unwrap()[..], [7; 5]);
        }
        assert_eq!(dev.to_vec().unwrap(), values);
        assert_eq!(foreign.to_vec().unwrap(), [0; 8]);
    }
}

/// Reads and writes beyond the end, of buffers, of slices of them and of nothing at all.
#[test]
fn indices_out_of_range_panic() {
    type Access = fn(&mut HostBuffer<u32>, usize) -> u32;
    let accesses: [Access; 4] = [
        |host, at| host[at],
        |host, at| host.as_span()[at],
        |host, at| std::mem::replace(&mut host[at], 7),
        |host, at| std::mem::replace(&mut host.as_span_mut()[at], 7),
    ];
    let ctx = DeviceContext::new(Device::cpu()).unwrap();
    for len in [0, 8] {
        for at in [len, len + 1, usize::MAX] {
            for access in accesses {
                let mut host = ctx.create_host_buffer::<u32>(len).unwrap();
                host.fill(3);
                let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| access(&mut host, at)));
                assert!(panicked.is_err(), "{at} of {len}");
                assert!(host.iter().all(|x| *x == 3));
            }
        }
    }
}

#[test]
fn pieces_of_two_blocks_do_not_join() {
    for ctx in contexts() {
        let blocks: Vec<_> = (0..64).map(|_| ctx.create_host_buffer::<u8>(64).unwrap()).collect();
        // Some of them lie side by side in the system's memory, perhaps.
        let Err(Fault { error: Error::NotAdjacent { index: 1 }, value }) = HostBuffer::rejoin(blocks) else {
            panic!("two blocks were joined")
        };
        assert_eq!(value.len(), 64);
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for ctx in contexts() {
        let half = usize::MAX / 4; // `isize::MAX / 2` bytes: a size that a type could have and no machine has
        for len in [isize::MAX as usize / 8 + 1, usize::MAX / 8, usize::MAX] {
            assert!(matches!(ctx.create_host_buffer::<u64>(len), Err(Error::TooLarge { elem_size: 8, .. })), "{len}");
            assert!(matches!(ctx.enqueue_create_buffer::<u64>(len), Err(Error::TooLarge { .. })), "{len}");
            assert!(matches!(ctx.enqueue_create_buffer_zeroed::<u64>(len), Err(Error::TooLarge { .. })), "{len}");
        }
        let _kept = ctx.enqueue_create_buffer_zeroed::<u8>(1 << 20).unwrap();
        for len in [half, isize::MAX as usize, isize::MAX as usize - 63] {
            let host = ctx.create_host_buffer::<u8>(len);
            assert!(
                matches!(host, Err(Error::OutOfMemory { place: Memory::Host, asked, .. }) if asked == len),
                "{len}"
            );
            let dev = ctx.enqueue_create_buffer::<u8>(len);
            assert!(
                matches!(dev, Err(Error::OutOfMemory { place: Memory::Device, asked, held })
                    if asked == len && held >= 1 << 20),
                "{len}"
            );
        }
        // The context goes on.
        assert_eq!(ctx.enqueue_create_buffer_zeroed::<u8>(3).unwrap().to_vec().unwrap(), [0; 3]);
    }
}

/// Handoff, sharing and copies between device memory stay on one device; idle host memory goes to any.
#[test]
fn devices_do_not_mix() {
    let (plain, chaos) =
        (DeviceContext::new(Device::cpu()).unwrap(), DeviceContext::new(Device::cpu_chaos(3)).unwrap());
    let mut dev = plain.enqueue_create_buffer_zeroed::<u8>(4).unwrap();
    let mut far = chaos.enqueue_create_buffer_zeroed::<u8>(4).unwrap();
    assert!(matches!(dev.enqueue_copy_from(&far), Err(Fault { error: Error::WrongDevice { .. }, .. })));
    let Err(Fault { error: Error::WrongDevice { .. }, value: dev }) = plain.handoff(dev, &chaos) else {
        panic!("handoff")
    };
    let Err(Fault { error: Error::WrongDevice { .. }, value: mut dev }) = dev.reassign_ownership_to(&chaos) else {
        panic!("reassign")
    };
    let mut ran = false;
    let lent = dev.on(&chaos, |_| {
        ran = true;
        Ok(())
    });
    assert!(matches!(lent, Err(Error::WrongDevice { .. })) && !ran);
    assert_eq!((dev.len(), dev.to_vec().unwrap()), (4, vec![0; 4]));
    let shared = dev.into_shared().unwrap();
    assert!(matches!(shared.share_with(&chaos), Err(Error::WrongDevice { .. })));
    let ptr = shared.try_unshare().unwrap().take_ptr();
    // SAFETY: the first call is refused and takes nothing; nothing is pending.
    let dev = unsafe {
        assert!(matches!(DeviceBuffer::from_ptr(&chaos, ptr, 4), Err(Error::WrongDevice { .. })));
        DeviceBuffer::from_ptr(&plain, ptr, 4).unwrap()
    };
    // Idle host memory moves back and forth, and is freed by whose it is.
    let mut host = plain.create_host_buffer_from(&[1u8, 2, 3, 4]).unwrap();
    for round in 0..20 {
        let flight = far.enqueue_copy_from(host).unwrap();
        host = chaos.synchronize(flight).unwrap();
        host = dev.enqueue_copy_to(host).unwrap().synchronize().unwrap();
        assert_eq!(host[..], [0; 4], "{round}");
        host.copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(far.to_vec().unwrap(), [1, 2, 3, 4]);
    }
    let shared = host.into_shared();
    far.enqueue_copy_from(&shared).unwrap();
    drop(far.enqueue_copy_from(chaos.create_host_buffer_from(&[9; 4]).unwrap()));
    chaos.synchronize(()).unwrap();
    assert_eq!(shared.try_unshare().unwrap()[..], [1, 2, 3, 4]);
}

/// A function over any tag, as users write it: the same calls for `Dyn` and for named streams.
fn round_trip<S: StreamTag, Q: StreamTag>(up: &DeviceContext<S>, down: &DeviceContext<Q>) {
    let values = pattern(100);
    let (dev, host) = up.enqueue_create_buffer_from(up.create_host_buffer_from(&values).unwrap()).unwrap();
    let (dev, host) = up.handoff((dev, host), down).unwrap();
    let host = down.synchronize(host).unwrap();
    let host = dev.enqueue_copy_to(host).unwrap().synchronize().unwrap();
    assert_eq!(host[..], values);
}

#[test]
fn all_pairs_of_tags() {
    for device in devices() {
        let (a, b) = (DeviceContext::tagged(A, device.clone()).unwrap(), DeviceContext::tagged(B, device).unwrap());
        let plain = a.fork().unwrap();
        let again = b.fork_tagged(A).unwrap();
        round_trip(&a, &b);
        round_trip(&a, &again);
        round_trip::<A, Dyn>(&a, &plain);
        round_trip(&plain, &b);
        round_trip(&plain, &plain);
        // Two streams of one tag are two streams.
        let dev = a.enqueue_create_buffer_zeroed::<u8>(1).unwrap();
        assert!(matches!(again.enqueue_create_buffer_from(&dev), Err(Fault { error: Error::WrongStream { .. }, .. })));
    }
}

/// Every public type that may hold memory in flight prints without looking at it.
#[test]
fn debug_of_pending_memory_shows_no_elements() {
    let ctx = DeviceContext::new(Device::cpu_chaos(9)).unwrap();
    let secret = 0xBAD_CAFEu32;
    let text = secret.to_string();
    let host = ctx.create_host_buffer_from(&[secret; 3]).unwrap();
    let flight = host.enqueue_fill(secret).unwrap();
    let mut printed = vec![format!("{flight:?}")];
    let fault = Fault { error: Error::EmptyChunk, value: flight };
    printed.push(format!("{fault:?} {fault}"));
    let recorded = ctx.record(fault.value).unwrap();
    printed.push(format!("{recorded:?}"));
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(3).unwrap();
    dev.enqueue_fill(secret).unwrap();
    printed.push(format!("{dev:?} {:?}", dev.as_span()));
    printed.push(format!("{:?}", dev.as_span_mut()));
    printed.push(format!("{:?}", dev.into_shared().unwrap()));
    for line in printed {
        assert!(!line.contains(&text) && !line.is_empty(), "{line}");
    }
    assert!(format!("{:?}", recorded.wait().unwrap()).contains(&text));
}
