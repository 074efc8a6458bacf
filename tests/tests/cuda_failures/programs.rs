//! Programs that use all of the interface and go on after errors, as far as there is something to go on with.

use escrow::cust::context::Context;
use escrow::cust::memory::DeviceBuffer as CustBuffer;
use escrow::cust::sys::{self, CUresult};
use escrow::{Device, DeviceBuffer, DeviceContext, Dyn, Error, Fault, HostBuffer, Launch};

pub type Program = fn(&DeviceContext) -> Result<(), Error>;

#[escrow::kernels(struct Blas, ptx = "../examples/kernels/blas.ptx")]
// SAFETY: thread `i` writes `y[i]`, for `i < n`.
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

#[escrow::kernels(struct Later, image)]
// SAFETY: as above; `tile` writes `w * h` elements, and `reverse` is for its callers to launch well.
unsafe extern "kernel" {
    #[launch(grid(w.div_ceil(16), h.div_ceil(4)), block(16, 4))]
    #[requires(w as usize * h as usize == img.len())]
    safe fn tile(w: u32, h: u32, #[out(all)] img: &mut [u32]);

    /// # Safety
    /// One thread for each element, and four bytes of shared memory for each thread of a block.
    unsafe fn reverse(data: &mut [u32]);
}

/// The value, also of a call that failed.
fn value<V>(result: Result<V, Fault<V>>) -> V {
    result.unwrap_or_else(|fault| fault.value)
}

/// A bit of everything, which goes on after errors.
pub fn everything(ctx: &DeviceContext) -> Result<(), Error> {
    let other = ctx.fork()?;
    let host = ctx.create_host_buffer_from(&[7u32; 64])?;
    let (mut dev, flight) = match ctx.enqueue_create_buffer_from(host) {
        Ok(both) => both,
        Err(Fault { error, value }) => {
            let _ = value.synchronize();
            return Err(error);
        }
    };
    let flight = match ctx.synchronize(flight) {
        Ok(host) => host.enqueue_fill(9)?,
        Err(Fault { value, .. }) => value,
    };
    let _ = dev.enqueue_fill(3);
    let mut wide = ctx.enqueue_create_buffer_zeroed::<u64>(33)?;
    let _ = wide.enqueue_fill(0x0123_4567_89AB_CDEF);
    let _ = wide.as_span_mut().slice(1..)?.enqueue_fill(5);
    let dev = match ctx.handoff(dev, &other) {
        Ok(dev) => dev,
        Err(fault) => fault.value,
    };
    let flight = dev.enqueue_copy_to(flight).unwrap_or_else(|fault| fault.value);
    let recorded = flight.context().clone().record(flight);
    let shared = dev.into_shared()?;
    let there = shared.share_with(ctx);
    let copied = there.map(|there| there.to_vec());
    let _ = shared.try_unshare().map(|mut dev| dev.enqueue_fill(1));
    let weights = ctx.create_host_buffer_from(&[1u8; 100])?.into_shared();
    let _ = ctx.enqueue_create_buffer_from(&weights).map(|dev| dev.to_vec());
    let _ = weights.try_unshare();
    let mut out = vec![0u32; 64];
    let _ = ctx.scope(|s| {
        let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(64)?;
        dev.enqueue_copy_from(s.lend(&[5; 64]))?;
        dev.enqueue_copy_to(s.lend_mut(&mut out))?;
        Ok(())
    });
    let landed: Result<HostBuffer<u32>, _> = recorded.map_err(Error::from)?.wait().map_err(Error::from);
    if let (Ok(host), Ok(Ok(copied))) = (landed, copied) {
        // Nobody reported an error on these, so they are right.
        assert_eq!(host.len(), copied.len());
    }
    let on: Result<(), Error> = DeviceBuffer::<u32>::empty(ctx).on(&other, |dev| dev.enqueue_fill(1));
    on?;
    ctx.device().trim();
    Ok(())
}

/// Lent memory, small and larger than a staging block, in scopes that succeed, fail and lie inside of each other.
pub fn scopes(ctx: &DeviceContext) -> Result<(), Error> {
    const LARGE: usize = (8 << 20) + 100;
    let (input, mut output, mut inner) = (vec![3u8; 1000], vec![0u8; 1000], vec![0u8; 1000]);
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(1000)?;
    let copied = ctx.scope(|s| {
        dev.enqueue_copy_from(s.lend(&input))?;
        dev.enqueue_copy_to(s.lend_mut(&mut output))?;
        ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut inner))?))?;
        let host = ctx.create_host_buffer::<u8>(1000)?.enqueue_copy_from(s.lend(&input))?;
        drop(host);
        Ok(())
    });
    if copied.is_ok() {
        // Nobody reported an error on these, so they are right.
        assert!(output == input && inner == input);
    }
    let failed: Result<(), Error> = ctx.scope(|s| {
        dev.enqueue_copy_to(s.lend_mut(&mut output))?;
        Err(Error::EmptyChunk)
    });
    assert!(failed.is_err());
    let sliced = dev.copy_from_slice(&[4; 1000]).and_then(|()| dev.copy_to_slice(&mut output));
    if sliced.is_ok() {
        assert!(output == [4; 1000]);
    }
    let read = dev.to_vec();
    if let (Ok(()), Ok(read)) = (&sliced, &read) {
        assert!(read[..] == [4; 1000]);
    }
    let large = vec![5u8; LARGE];
    let raw = ctx.enqueue_create_buffer::<u8>(LARGE)?;
    let written = raw.copy_from_slice(&large).map_err(Error::from);
    let back = written.and_then(|dev| dev.to_vec());
    if let Ok(back) = &back {
        assert!(*back == large);
    }
    copied.and(sliced).and(read.map(drop)).and(back.map(drop))
}

/// Memory of the user that is pinned for a while.
pub fn registered(ctx: &DeviceContext) -> Result<(), Error> {
    let mut values = vec![1u32; 5000];
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(2500)?;
    for _ in 0..2 {
        let copied = ctx.scope(|s| {
            let (mut low, high) = s.register(&mut values)?.split_at(2500)?;
            dev.enqueue_copy_from(&high)?;
            dev.enqueue_fill(2)?;
            dev.enqueue_copy_to(&mut low)?;
            Ok(())
        });
        if copied.is_ok() {
            assert!(values[..2500] == [2; 2500] && values[2500..] == [1; 2500]);
        }
        copied?;
    }
    Ok(())
}

/// Copies between two GPUs, and between two streams of one.
pub fn peers(ctx: &DeviceContext) -> Result<(), Error> {
    let there = DeviceContext::new(Device::cuda(1)?)?;
    let mut here = ctx.enqueue_create_buffer::<u32>(1000)?.enqueue_fill(1)?;
    let mut far = there.enqueue_create_buffer_zeroed::<u32>(1000)?;
    let first = far.enqueue_copy_peer(&here);
    let second = here.enqueue_fill(2);
    let read = far.to_vec();
    // A context that has died says so to its own calls only: what it never wrote can be copied by the other GPU.
    let alive = ctx.synchronize(()).map_err(Error::from);
    if let (Ok(()), Ok(()), Ok(read)) = (&first, &alive, &read) {
        assert!(read[..] == [1; 1000]);
    }
    let third = here.enqueue_copy_peer(&far);
    drop(far);
    let near = ctx.fork()?.enqueue_create_buffer::<u32>(1000)?.enqueue_copy_peer(&here);
    let near = near.map_err(Error::from).and_then(|near| near.to_vec());
    let waited = there.synchronize(()).map_err(Error::from);
    first.and(second).and(alive).and(third).and(waited).and(read.map(drop)).and(near.map(drop))
}

/// A stream of other CUDA code. What is theirs and fails is not ours to report.
pub fn streams_of_others(ctx: &DeviceContext) -> Result<(), Error> {
    let Ok(_context) = escrow::cust::device::Device::get_device(0).and_then(Context::new) else { return Ok(()) };
    let mut stream: sys::CUstream = std::ptr::null_mut();
    // SAFETY: the address is valid, and a context is current.
    if unsafe { sys::cuStreamCreate(&raw mut stream, 1) } != CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    // SAFETY: the stream is never destroyed.
    let theirs = unsafe { DeviceContext::from_cuda_stream(Dyn, ctx.device().clone(), stream) }?;
    let done = on_a_stream_of_others(&theirs, ctx);
    let waited = theirs.synchronize(()).map_err(Error::from);
    drop(theirs);
    done.and(waited)
}

fn on_a_stream_of_others(theirs: &DeviceContext, ctx: &DeviceContext) -> Result<(), Error> {
    let host = theirs.create_host_buffer_from(&[1u8; 300])?;
    let (dev, host) = match theirs.enqueue_create_buffer_from(host) {
        Ok(both) => both,
        Err(fault) => return Err(fault.error),
    };
    drop(host); // parked on a stream that is not ours
    let read = dev.to_vec().map(|values| assert!(values == [1; 300]));
    let dev = theirs.handoff(dev, ctx)?;
    let again = dev.to_vec().map(|values| assert!(values == [1; 300]));
    read.and(again)
}

/// Memory from other CUDA code, and to it.
pub fn memory_of_others(ctx: &DeviceContext) -> Result<(), Error> {
    let Ok(_context) = escrow::cust::device::Device::get_device(0).and_then(Context::new) else { return Ok(()) };
    let ours = ctx.enqueue_create_buffer::<u64>(100)?.enqueue_fill(6)?;
    let theirs: CustBuffer<u64> = match ours.into_cust() {
        Ok(theirs) => theirs,
        Err(Fault { error, value }) => {
            drop(value);
            return Err(error);
        }
    };
    let raw = theirs.as_device_ptr().as_raw();
    // SAFETY: `theirs` outlives the wait.
    let view = unsafe { DeviceBuffer::<u64>::from_cuda_ptr(ctx, raw, 100) };
    let seen = view.and_then(|mut view| {
        view.enqueue_fill(7)?;
        let values = view.to_vec()?;
        assert!(values == [7; 100]);
        Ok(())
    });
    let waited = ctx.synchronize(()).map_err(Error::from);
    if waited.is_err() {
        std::mem::forget(theirs); // it may be in use
        return seen.and(waited);
    }
    // SAFETY: nothing is pending on it (the wait), and there is no other pointer.
    let dev = match unsafe { DeviceBuffer::from_cust(ctx, theirs) } {
        Ok(dev) => dev,
        Err(fault) => return Err(fault.error),
    };
    let read = dev.to_vec();
    drop(dev);
    ctx.synchronize(())?;
    ctx.device().trim();
    seen.and(read.map(drop))
}

/// Device code from the program and from a file, launches of all kinds, and questions about them.
pub fn kernels(ctx: &DeviceContext) -> Result<(), Error> {
    let blas = Blas::load(ctx.device())?;
    let x = ctx.enqueue_create_buffer::<f32>(1000)?.enqueue_fill(2.0)?;
    let mut y = ctx.enqueue_create_buffer::<f32>(1000)?.enqueue_fill(1.0)?;
    let launched = blas.saxpy(ctx, 3.0, &x, &mut y);
    let other = ctx.fork()?;
    // Loaded once, so this asks the driver for nothing.
    let again = Blas::load(ctx.device()).map(drop);
    let read = y.to_vec();
    if let (Ok(()), Ok(read)) = (&launched, &read) {
        assert!(read[..] == [7.0; 1000]);
    }
    // SAFETY: the file has what is declared.
    let later = unsafe { Later::load_image(ctx.device(), include_bytes!("../kernels/params.ptx")) }?;
    let most = later.max_blocks("reverse", 64, 256);
    let img = later.tile(&other, 100, 3, other.enqueue_create_buffer::<u32>(300)?);
    let img = img.map_err(Error::from).and_then(|img| img.to_vec());
    if let Ok(img) = &img {
        assert_eq!(img[299], 2099);
    }
    let mut data = ctx.enqueue_create_buffer_zeroed::<u32>(128)?;
    // SAFETY: as many threads as elements, and enough bytes.
    let shared = unsafe { later.reverse(ctx, Launch::new(2, 64).shared(256), &mut data) };
    // SAFETY: as above.
    let cooperative = unsafe { later.reverse(ctx, Launch::new(2, 64).shared(256).cooperative(), &mut data) };
    launched.and(again).and(read.map(drop)).and(most.map(drop)).and(img.map(drop)).and(shared).and(cooperative)
}

/// Fills of every way: memsets, the kernel, and copies that double.
pub fn fills(ctx: &DeviceContext) -> Result<(), Error> {
    fn fill<T: escrow::DType + PartialEq + std::fmt::Debug>(ctx: &DeviceContext, value: T) -> Result<(), Error> {
        let mut dev = ctx.enqueue_create_buffer_zeroed::<T>(33)?;
        let filled = dev.enqueue_fill(value);
        let read = dev.to_vec();
        if let (Ok(()), Ok(read)) = (&filled, &read) {
            assert!(read[..] == vec![value; 33]);
        }
        // What was never written comes back unwritten, and goes.
        let raw = ctx.enqueue_create_buffer::<T>(33)?.enqueue_fill(value).map(drop).map_err(Error::from);
        let host = ctx.create_host_buffer::<T>(33)?;
        let host = match host.enqueue_fill(value) {
            Ok(host) => ctx.synchronize(host).map(|host| assert!(host[..] == vec![value; 33])).map_err(Error::from),
            Err(fault) => {
                let error = fault.error;
                let _ = fault.value.synchronize();
                Err(error)
            }
        };
        filled.and(read.map(drop)).and(raw).and(host)
    }
    let all = [
        fill(ctx, 5u8),
        fill(ctx, 0x1234u16),
        fill(ctx, 0x1234_5678u32),
        fill(ctx, 0x1234_5678_9ABC_DEF0u64),
        fill(ctx, u128::MAX / 7),
        fill(ctx, [1u8, 2, 3]),
        fill(ctx, [1.0f32, 2.0, 3.0]),
    ];
    all.into_iter().collect()
}

/// Device memory that several streams read, and host memory that several operations read.
pub fn shared_memory(ctx: &DeviceContext) -> Result<(), Error> {
    let (second, third) = (ctx.fork()?, ctx.fork()?);
    let shared = ctx.enqueue_create_buffer::<u32>(500)?.enqueue_fill(8)?.into_shared()?;
    let mut done = Ok(());
    for reader in [&second, &third] {
        let read = shared.share_with(reader).and_then(|there| {
            let flight = there.enqueue_copy_to(reader.create_host_buffer::<u32>(500)?);
            drop(there); // with its read pending
            let host = reader.synchronize(value(flight)).map_err(Error::from)?;
            assert_eq!(host.len(), 500);
            Ok(())
        });
        done = done.and(read);
    }
    let early = shared.share_with(&second);
    let shared = match shared.try_unshare() {
        Ok(dev) => dev.into_shared()?, // there was no other handle
        Err(fault) => fault.value,
    };
    done = done.and(early.map(drop));
    match shared.try_unshare() {
        Ok(mut dev) => done = done.and(dev.enqueue_fill(9)),
        // A handle that could not say when its reads end stays counted.
        Err(Fault { error: Error::StillShared { .. }, value }) => drop(value),
        Err(Fault { error, value }) => {
            drop(value);
            done = done.and(Err(error));
        }
    }

    // The last handle to go is a reader.
    let shared = ctx.enqueue_create_buffer::<u32>(500)?.enqueue_fill(8)?.into_shared()?;
    let there = shared.share_with(&third);
    drop(shared);
    done = done.and(there.and_then(|there| there.to_vec()).map(drop));

    let weights = ctx.create_host_buffer_from(&[1u8; 400])?.into_shared();
    let mut dev = second.enqueue_create_buffer_zeroed::<u8>(400)?;
    let copied = dev.enqueue_copy_from(&weights).map_err(Error::from);
    let part = third.enqueue_create_buffer_from(&weights.create_sub_buffer::<u8>(100, 50)?);
    done = done.and(copied).and(part.map(drop).map_err(Error::from));
    for ctx in [ctx, &second, &third] {
        done = done.and(ctx.synchronize(()).map_err(Error::from));
    }
    done
}

/// Values that go from stream to stream, points that are recorded, and streams that come and go.
pub fn handoffs(ctx: &DeviceContext) -> Result<(), Error> {
    let other = ctx.fork()?;
    let dev = ctx.enqueue_create_buffer::<u32>(500)?.enqueue_fill(1)?;
    let mut done = Ok(());
    let flight = match ctx.create_host_buffer::<u32>(500)?.enqueue_fill(2) {
        Ok(flight) => flight,
        Err(Fault { error, value }) => {
            done = Err(error);
            value
        }
    };
    let (mut dev, flight) = match ctx.handoff((dev, flight), &other) {
        Ok((dev, flight)) => (dev, flight),
        Err(Fault { error, value: (dev, flight) }) => {
            // All of it stays where it was.
            assert!(dev.to_vec().map_or(true, |values| values == [1; 500]));
            drop(flight);
            return Err(error);
        }
    };
    let flight = match dev.enqueue_copy_from(flight) {
        Ok(flight) => flight,
        Err(Fault { error, value }) => {
            done = Err(error);
            value
        }
    };
    let flight = match flight.reassign_ownership_to(ctx) {
        Ok(flight) => flight,
        Err(Fault { error, value }) => {
            drop(value);
            return Err(error);
        }
    };
    match ctx.record(flight) {
        Ok(recorded) => {
            let mut asked = Ok(false);
            for _ in 0..3 {
                asked = recorded.is_finished();
            }
            let host: Result<HostBuffer<u32>, Error> = recorded.wait().map_err(Error::from);
            if let (Ok(()), Ok(host)) = (&done, &host) {
                assert!(host[..] == [2; 500]);
            }
            done = done.and(asked.map(drop)).and(host.map(drop));
        }
        Err(Fault { error, value }) => {
            let _ = value.synchronize();
            done = done.and(Err(error));
        }
    }
    let lent = dev.on(ctx, |dev| dev.enqueue_fill(3));
    let failed: Result<(), Error> = dev.on(ctx, |_| Err(Error::EmptyChunk));
    assert!(failed.is_err());
    done = done.and(lent);
    for i in 0..3u8 {
        let fork = ctx.fork()?;
        let dev = fork.enqueue_create_buffer::<u8>(100)?.enqueue_fill(i)?;
        // Parked on a stream without handles.
        drop(value(dev.enqueue_copy_to(fork.create_host_buffer::<u8>(100)?)));
    }
    let waited = other.synchronize(()).map_err(Error::from);
    done.and(waited)
}

/// Host memory in pieces, and memory by its pointer.
pub fn pieces_and_pointers(ctx: &DeviceContext) -> Result<(), Error> {
    let host = ctx.create_host_buffer_from(&(0..400).collect::<Vec<u32>>())?;
    let (low, high) = host.into_split_at(100)?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(100)?;
    let other = ctx.fork()?;
    let mut far = other.enqueue_create_buffer_zeroed::<u32>(300)?;
    // Pieces of one block, in flight on two streams.
    let low = dev.enqueue_copy_from(low);
    let high = far.enqueue_copy_from(high);
    let mut done = Ok(());
    let mut land = |ctx: &DeviceContext, flight: Result<_, Fault<_>>| {
        let flight = flight.unwrap_or_else(|fault| {
            done = Err(fault.error);
            fault.value
        });
        ctx.synchronize(flight).map_err(Error::from)
    };
    let (low, high): (HostBuffer<u32>, _) = (land(ctx, low)?, land(&other, high)?.reassign_ownership_to(ctx)?);
    let host = HostBuffer::rejoin([low, high])?;
    let chunks = host.into_chunks(150)?;
    let ptr = HostBuffer::rejoin(chunks)?.take_ptr()?;
    // SAFETY: the one time that the pointer is taken back; nothing is pending on the memory.
    let host = unsafe { HostBuffer::from_ptr(ctx, ptr, 400) }?;
    assert_eq!(host[399], 399);

    let ptr = dev.take_ptr();
    // SAFETY: as above, and on the same stream.
    let dev = unsafe { DeviceBuffer::from_ptr(ctx, ptr, 100) }?;
    let mut values = [0u32; 100];
    // SAFETY: the array has 100 elements and is left alone until the wait.
    let copied = unsafe { dev.enqueue_copy_to_ptr(values.as_mut_ptr()) };
    let waited = ctx.synchronize(()).map_err(Error::from);
    if done.is_ok() && copied.is_ok() && waited.is_ok() {
        assert!(values.iter().zip(0..).all(|(value, i)| *value == i));
    }
    done.and(copied).and(waited)
}

/// Much that is parked on a stream that nobody waits for.
pub fn crowds(ctx: &DeviceContext) -> Result<(), Error> {
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(100)?;
    for _ in 0..2 {
        let host = ctx.create_host_buffer::<u8>(33 << 20)?;
        let (head, rest) = host.into_split_at(100)?;
        drop(rest);
        drop(value(dev.enqueue_copy_from(head)));
    }
    // A look at what has been passed by now.
    drop(value(dev.enqueue_copy_to(ctx.create_host_buffer::<u8>(100)?)));
    ctx.synchronize(())?;
    drop(value(dev.enqueue_copy_to(ctx.create_host_buffer::<u8>(100)?)));
    let written: Vec<_> = (0..3).map(|_| ctx.enqueue_create_buffer_zeroed::<u8>(10).map(drop)).collect();
    ctx.device().trim();
    written.into_iter().collect()
}
