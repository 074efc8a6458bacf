//! Mistakes that the CUDA libraries of others made, tried here (`docs/cudarc-and-cust.md`), and fills of every element in
//! every place. On a real GPU and on the fake driver, which ends the process at the first race, use after free or free in
//! use; what only the fake one can tell, or what takes more GPUs than there are, is skipped elsewhere.
#![cfg(feature = "cuda")]

use std::env;
use std::fmt::Debug;
use std::mem::forget;
use std::num::Wrapping;
use std::process::{Command, Output};
use std::ptr;
use std::thread;

use escrow::cust::context::{Context, CurrentContext};
use escrow::cust::sys::{self, CUresult};
use escrow::{
    Bool8, DType, Device, DeviceBuffer, DeviceContext, Dyn, Error, F8E4M3, F8E5M2, Fault, HostBuffer, PodElement,
    SharedDeviceBuffer,
};
use escrow_tests::{enqueue_mix, fake, gpu};

const LEN: usize = 1 << 18;

fn context() -> Option<DeviceContext> {
    gpu().map(|gpu| DeviceContext::new(gpu).expect("a stream"))
}

fn filled(ctx: &DeviceContext, value: u32) -> Result<DeviceBuffer<u32>, Error> {
    Ok(ctx.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(value)?)
}

/// Runs a test of this program again, alone in its process, with these variables. There `ESCROW_CUDA_CHILD` is set. Calls
/// have the numbers that a real driver gives them, which takes a call without a current context as it is.
fn child(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .env("ESCROW_CUDA_CHILD", test)
        .env_remove("FAKE_CUDA_STRICT")
        .envs(variables.iter().copied())
        .output()
        .expect("this program starts")
}

fn is_child(test: &str) -> bool {
    env::var("ESCROW_CUDA_CHILD").is_ok_and(|child| child == test)
}

/// What the child said, which ended well.
#[track_caller]
fn said(output: &Output) -> String {
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{wrong}");
    said.into_owned()
}

/// The primary context of the first GPU as cust has it, current on this thread.
fn of_cust() -> Context {
    escrow::cust::init(escrow::cust::CudaFlags::empty()).expect("a driver");
    let device = escrow::cust::device::Device::get_device(0).expect("a GPU");
    let context = Context::new(device).expect("its context");
    CurrentContext::set_current(&context).expect("current");
    context
}

/// K2: one event for all readers, so that the last one to finish its call hides the others.
#[test]
fn each_of_several_readers_is_waited_for() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    for order in 0..4 {
        let shared = filled(&ctx, 1)?.into_shared()?;
        let (long, short) = (ctx.fork()?, ctx.fork()?);
        let read = |ctx: &DeviceContext, times: usize| {
            let handle: SharedDeviceBuffer<u32> = shared.share_with(ctx)?;
            let mut copy = ctx.enqueue_create_buffer::<u32>(LEN)?.enqueue_copy_from(handle.as_span())?;
            for _ in 1..times {
                copy.enqueue_copy_from(handle.as_span())?;
            }
            Ok::<_, Error>((handle, copy))
        };
        let (first, of_long) = read(&long, 20)?;
        let (second, of_short) = read(&short, 1)?;
        // The memory is freed, and goes to somebody who writes; or it is taken back and written.
        let next = match order {
            0 => {
                drop((first, second, shared));
                filled(&ctx, 2)?
            }
            1 => {
                drop((shared, second, first));
                filled(&short, 2)?
            }
            2 => {
                drop((first, second));
                let mut back = shared.try_unshare()?;
                back.enqueue_fill(2)?;
                back
            }
            _ => {
                drop((second, first));
                let back = short.handoff(ctx.handoff(shared.try_unshare()?, &short)?, &ctx)?;
                drop(back);
                filled(&ctx, 2)?
            }
        };
        assert!(of_long.to_vec()? == vec![1; LEN] && of_short.to_vec()? == vec![1; LEN], "{order}");
        assert!(next.to_vec()? == vec![2; LEN], "{order}");
    }
    Ok(())
}

/// K3: the order between streams that is lost when a stream object is dropped with its work in flight.
#[test]
fn a_stream_object_that_goes_takes_no_order_with_it() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    for round in 0..10 {
        let fork = ctx.fork()?;
        let src = filled(&fork, round)?;
        let dst = fork.enqueue_create_buffer::<u32>(LEN)?.enqueue_copy_from(&src)?;
        let shared = fork.enqueue_create_buffer::<u32>(LEN)?.enqueue_copy_from(&src)?.into_shared()?;
        let (there, dst) = (shared.share_with(&ctx)?, fork.handoff(dst, &ctx)?);
        drop((src, shared, fork));
        let next = filled(&ctx, 1000)?;
        assert!(dst.to_vec()? == vec![round; LEN] && there.to_vec()? == vec![round; LEN], "{round}");
        drop(next);
    }
    Ok(())
}

/// K1, K8: a borrowed slice of pinned memory, which a device could write after the borrow has ended.
#[test]
fn slices_of_pinned_memory_are_not_left_in_use() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let mut dev = filled(&ctx, 0)?;
    for round in 1..20u32 {
        dev.enqueue_fill(round)?;
        let mut host = ctx.create_host_buffer::<u32>(LEN)?;
        dev.copy_to_slice(&mut host)?;
        assert!(host.iter().all(|it| *it == round), "{round}");
        drop(host);
        // Read by the call: what is written behind it does not arrive.
        let mut host = ctx.create_host_buffer_from(&vec![round + 100; LEN])?;
        dev.copy_from_slice(&host)?;
        host.fill(7);
        assert!(dev.to_vec()? == vec![round + 100; LEN], "{round}");
        ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut host))?))?;
        assert!(host.iter().all(|it| *it == round + 100), "{round}");
        drop(host);
        let next = ctx.create_host_buffer_from(&vec![9u32; LEN])?;
        assert!(next.iter().all(|it| *it == 9));
    }
    Ok(())
}

/// K7: pinned memory of one GPU in flight on another, whose events are not of its context.
#[test]
fn pinned_memory_of_one_gpu_in_flight_on_another() -> Result<(), Error> {
    const TEST: &str = "pinned_memory_of_one_gpu_in_flight_on_another";
    let Some(first) = gpu() else { return Ok(()) };
    let second = match Device::cuda(1) {
        Ok(second) => second,
        Err(_) if !is_child(TEST) && fake::is_here() => {
            said(&child(TEST, &[("FAKE_CUDA_DEVICES", "2")]));
            return Ok(());
        }
        Err(error) => {
            println!("skipped: there is one GPU: {error}");
            return Ok(());
        }
    };
    let (a, b) = (DeviceContext::new(first)?, DeviceContext::new(second)?);
    for round in 0..10u32 {
        let mut dev = b.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(0)?;
        drop(dev.enqueue_copy_from(a.create_host_buffer_from(&vec![round; LEN])?)?);
        // Not the block that `b` still reads.
        let mut other = a.create_host_buffer_from(&vec![1000u32; LEN])?;
        a.synchronize(())?;
        other.fill(2000);
        let host = b.synchronize(dev.enqueue_copy_to(other)?)?;
        assert!(host.iter().all(|it| *it == round), "{round}");
        // Back on its own GPU.
        let host = a.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(round)?.enqueue_copy_to(host)?;
        assert!(a.synchronize(host)?.iter().all(|it| *it == round), "{round}");
    }
    Ok(())
}

/// K13: a stream that is another one on each thread. K14: two handles of one device that know nothing of each other.
#[test]
fn threads_and_handles_of_one_gpu() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    let gpu = Device::cuda(0)?;
    assert!(gpu == *ctx.device() && gpu == gpu.clone());
    for round in 0..10u32 {
        let device = gpu.clone();
        let there = thread::spawn(move || {
            let ctx = DeviceContext::new(device)?;
            let dev = filled(&ctx, round)?;
            let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u32>(LEN)?)?;
            Ok::<_, Error>((dev, host))
        });
        let (mut dev, host) = there.join().expect("no panic")?;
        // The two streams are told apart, though they come from two handles of one device.
        let mut mine = filled(&ctx, 5)?;
        assert!(matches!(mine.enqueue_copy_from(&dev), Err(Fault { error: Error::WrongStream { .. }, .. })));
        assert!(matches!(dev.enqueue_copy_from(&mine), Err(Fault { error: Error::WrongStream { .. }, .. })));
        let theirs = dev.context().clone();
        let read = thread::spawn(move || dev.to_vec().map(|values| (values, dev)));
        let (values, dev) = read.join().expect("no panic")?;
        assert!(values == vec![round; LEN]);
        let dev = theirs.handoff(dev, &ctx)?;
        mine.enqueue_copy_from(&dev)?;
        thread::spawn(move || drop(dev)).join().expect("no panic");
        assert!(filled(&ctx, 6)?.to_vec()? == vec![6; LEN] && mine.to_vec()? == vec![round; LEN]);
        assert!(theirs.synchronize(host)?.iter().all(|it| *it == round));
    }
    Ok(())
}

/// K15, C5, C7: memory that is dropped where no context is current, or another one, leaks or is freed without order.
#[test]
fn drops_on_threads_without_a_context() -> Result<(), Error> {
    const TEST: &str = "drops_on_threads_without_a_context";
    let Some(ctx) = context() else { return Ok(()) };
    if !is_child(TEST) {
        if fake::is_here() {
            // Alone in its process, since the counts are of all threads.
            for strict in ["0", "1"] {
                said(&child(TEST, &[("FAKE_CUDA_STRICT", strict)]));
            }
        }
        return Ok(());
    }
    let (before, frees) = (fake::live_allocations(), fake::calls("cuMemFree_v2"));
    let allocated = fake::calls("cuMemAllocAsync") + fake::calls("cuMemAlloc_v2");
    let dev = filled(&ctx, 3)?;
    let shared = filled(&ctx, 4)?.into_shared()?;
    let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u32>(LEN)?)?;
    let idle = ctx.create_host_buffer::<u8>(100)?;
    let fork = ctx.fork()?;
    let there = fork.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(5)?;
    // New threads have no current context.
    thread::spawn(move || drop((dev, shared, host, idle, there, fork))).join().expect("no panic");
    ctx.synchronize(())?;
    for _ in 0..10 {
        ctx.device().trim(); // asks each time whether the fork has ended
    }
    assert_eq!(fake::live_allocations(), before);
    assert!(fake::calls("cuMemAllocAsync") + fake::calls("cuMemAlloc_v2") >= allocated + 3);
    if env::var_os("FAKE_CUDA_POOLS").is_none() && env::var_os("ESCROW_CUDA_POOLS").is_none() {
        assert_eq!(fake::calls("cuMemFree_v2"), frees, "memory of a pool is freed on its stream");
    }
    Ok(())
}

/// K16: a launch that reports an error although the kernel runs, and memory that is then freed under it.
#[test]
fn launches_that_fail_after_they_were_enqueued() -> Result<(), Error> {
    const TEST: &str = "launches_that_fail_after_they_were_enqueued";
    if is_child(TEST) {
        let Some(ctx) = context() else { return Ok(()) };
        let (mut dst, src) = (filled(&ctx, 1)?, filled(&ctx, 2)?);
        let mut wide = ctx.enqueue_create_buffer_zeroed::<u64>(LEN)?;
        let launched = (enqueue_mix(&ctx, &mut dst, &src).is_ok(), wide.enqueue_fill(0x0123_4567_89AB_CDEF).is_ok());
        drop((dst, src, wide));
        let ends = filled(&ctx, 3).and_then(|next| next.to_vec()).map(|values| values == vec![3; LEN]);
        println!("launched {launched:?}, ends {ends:?}");
        return Ok(());
    }
    if gpu().is_none() || !fake::is_here() {
        return Ok(());
    }
    assert!(said(&child(TEST, &[])).contains("launched (true, true), ends Ok(true)"));
    for (fault, launched) in [
        ("cuLaunchKernel:1:2:after", "launched (false, true), ends Ok(true)"),
        ("cuLaunchKernel:2:2:after", "launched (true, false), ends Ok(true)"),
        ("cuLaunchKernel:1:719:after:sticky", "launched (false, false), ends Err"),
    ] {
        let said = said(&child(TEST, &[("FAKE_CUDA_FAIL", fault)]));
        assert!(said.contains(launched), "{fault}: {said}");
    }
    Ok(())
}

/// K17, C10: a code that the bindings do not know is an invalid value of their enum.
#[test]
fn codes_of_newer_drivers() -> Result<(), Error> {
    const TEST: &str = "codes_of_newer_drivers";
    const CODE: i32 = 98_765;
    if is_child(TEST) {
        let Some(ctx) = context() else { return Ok(()) };
        let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN)?;
        let mut host = ctx.create_host_buffer::<u32>(LEN)?;
        let mut codes = Vec::new();
        for _ in 0..3 {
            let result = dev.enqueue_fill(1);
            codes.extend(result.as_ref().err().map(|error| (error.to_string(), error.clone())));
            let flight = match dev.enqueue_copy_to(host) {
                Ok(flight) => flight,
                Err(Fault { error, value }) => {
                    codes.push((error.to_string(), error));
                    value
                }
            };
            host = match ctx.synchronize(flight) {
                Ok(host) => host,
                Err(Fault { error, value }) => {
                    codes.push((error.to_string(), error));
                    value.synchronize()?
                }
            };
        }
        assert_eq!(codes.len(), 1, "{codes:?}");
        for (text, error) in codes {
            assert!(matches!(error, Error::Driver { code: CODE, .. }) && text.contains("98765"), "{text}");
        }
        assert!(host.iter().all(|it| *it == 1));
        return Ok(());
    }
    if gpu().is_none() || !fake::is_here() {
        return Ok(());
    }
    for call in ["cuMemsetD32Async:2", "cuMemcpyDtoHAsync_v2:1", "cuStreamSynchronize:1"] {
        said(&child(TEST, &[("FAKE_CUDA_FAIL", &format!("{call}:{CODE}"))]));
    }
    Ok(())
}

/// K20: a guard whose drop keeps the order, and that can be forgotten.
#[test]
fn forgotten_values_keep_their_memory_and_the_order() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    for round in 0..5u32 {
        let fork = ctx.fork()?;
        let mut dev = filled(&fork, round)?;
        forget(dev.enqueue_copy_to(fork.create_host_buffer::<u32>(LEN)?)?);
        forget(fork.record(dev.enqueue_copy_from(fork.create_host_buffer_from(&vec![round + 1; LEN])?)?)?);
        let shared = dev.into_shared()?;
        forget(shared.share_with(&ctx)?);
        let Err(Fault { error: Error::StillShared { .. }, value: shared }) = shared.try_unshare() else {
            panic!("a reader that was forgotten may read")
        };
        let mut values = vec![0u32; LEN];
        fork.scope(|s| {
            shared.enqueue_copy_to(s.lend_mut(&mut values))?;
            Ok(())
        })?;
        assert!(values == vec![round + 1; LEN], "{round}");
        let mut dev = filled(&ctx, round)?;
        ctx.scope(|s| {
            // Spans have no drop to forget: the scope itself waits, and unpins.
            dev.enqueue_copy_from(&s.register(&mut values)?)?;
            Ok(())
        })?;
        values.fill(77);
        assert!(dev.to_vec()? == vec![round + 1; LEN], "{round}");
        drop((values, shared));
    }
    Ok(())
}

/// K5, K21: memory that a graph uses when its owner is gone. There is no capture here, and a stream that is being captured
/// is refused.
#[test]
fn streams_that_are_being_captured_are_refused() -> Result<(), Error> {
    let Some(gpu) = gpu() else { return Ok(()) };
    let _context = of_cust();
    let mut stream = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    assert_eq!(unsafe { sys::cuStreamCreate(&raw mut stream, 1) }, CUresult::CUDA_SUCCESS);
    let relaxed = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the stream lives.
    if unsafe { sys::cuStreamBeginCapture_v2(stream, relaxed) } == CUresult::CUDA_SUCCESS {
        // SAFETY: the stream lives.
        let refused = unsafe { DeviceContext::from_cuda_stream(Dyn, gpu.clone(), stream) };
        assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
        let mut graph = ptr::null_mut();
        // SAFETY: the stream lives, and the graph is destroyed once.
        unsafe {
            assert_eq!(sys::cuStreamEndCapture(stream, &raw mut graph), CUresult::CUDA_SUCCESS);
            assert_eq!(sys::cuGraphDestroy(graph), CUresult::CUDA_SUCCESS);
        }
    } else {
        println!("skipped: this driver captures nothing");
    }
    // SAFETY: the stream is destroyed below, behind everything that was made with it.
    let ctx = unsafe { DeviceContext::from_cuda_stream(Dyn, gpu, stream) }?;
    assert!(filled(&ctx, 1)?.to_vec()? == vec![1; LEN]);
    drop(ctx);
    // SAFETY: no handle of a context of it is left.
    assert_eq!(unsafe { sys::cuStreamDestroy_v2(stream) }, CUresult::CUDA_SUCCESS);
    Ok(())
}

/// C5: memory of a pool that goes to `cuMemFree`, which then waits for nothing. cust's `set_32` and drop are safe: the one
/// leaves its work running, the other counts on `cuMemFree` to wait.
#[test]
fn what_cust_gets_is_no_memory_of_a_pool() -> Result<(), Box<dyn std::error::Error>> {
    const TEST: &str = "what_cust_gets_is_no_memory_of_a_pool";
    const LARGE: usize = 1 << 26;
    let Some(ctx) = context() else { return Ok(()) };
    if is_child(TEST) {
        let _context = of_cust();
        let before = fake::calls("cuMemAlloc_v2");
        let theirs = filled(&ctx, 1)?.into_cust()?;
        assert_eq!(fake::calls("cuMemAlloc_v2") - before, 1);
        assert!(theirs.as_host_vec()? == vec![1; LEN]);
        return Ok(());
    }
    if fake::is_here() {
        // Alone in its process, since the counts are of all threads. The fake driver reports every `cuMemFree` of memory
        // in use, so it cannot see the difference itself.
        said(&child(TEST, &[]));
        return Ok(());
    }
    let _context = of_cust();
    for round in 0..3 {
        let mut theirs = ctx.enqueue_create_buffer_zeroed::<u32>(LARGE)?.into_cust()?;
        for _ in 0..100 {
            theirs.set_32(7)?;
        }
        drop(theirs);
        let next = ctx.enqueue_create_buffer_zeroed::<u32>(LARGE)?;
        ctx.synchronize(())?;
        let left = next.to_vec()?.into_iter().filter(|value| *value != 0).count();
        assert_eq!(left, 0, "{round}: elements of new memory that freed memory's work has written");
    }
    Ok(())
}

/// C6: objects whose context is gone.
#[test]
fn memory_outlives_every_context_object() -> Result<(), Error> {
    let Some(gpu) = gpu() else { return Ok(()) };
    let theirs = of_cust();
    let ctx = DeviceContext::new(gpu)?;
    let dev = filled(&ctx, 8)?;
    let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u32>(LEN)?)?;
    drop((theirs, ctx)); // cust gives its count of the primary context back
    assert!(host.synchronize()?.iter().all(|it| *it == 8));
    assert!(dev.to_vec()? == vec![8; LEN]);
    let next = filled(dev.context(), 9)?;
    drop(dev);
    assert!(next.to_vec()? == vec![9; LEN]);
    Ok(())
}

// Fills: every element, in every place.

/// The elements as they lie in memory, so that what equality does not see counts too.
fn bytes<T: DType>(values: &[T]) -> &[u8] {
    // SAFETY: elements have no padding (`DType`).
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

#[track_caller]
fn same<T: DType>(found: &[T], wanted: &[T], place: impl Debug) {
    assert!(bytes(found) == bytes(wanted), "{} {place:?}: {:x?}", T::NAME, &bytes(found)[..found.len().min(64)]);
}

/// `len` elements, `inside` where the range is and `outside` elsewhere.
fn mixed<T: DType>(len: usize, range: std::ops::Range<usize>, inside: T, outside: T) -> Vec<T> {
    (0..len).map(|at| if range.contains(&at) { inside } else { outside }).collect()
}

fn fills_of<T: DType>(ctx: &DeviceContext, values: &[T]) -> Result<(), Error> {
    for (at, &value) in values.iter().enumerate() {
        let outside = values[(at + 1) % values.len()];
        for len in [1, 2, 3, 5, 8, 33, 1000, 4097] {
            let dev = ctx.enqueue_create_buffer::<T>(len)?.enqueue_fill(value)?;
            same(&dev.to_vec()?, &vec![value; len], ("fresh", len));
            let host = ctx.create_host_buffer::<T>(len)?.enqueue_fill(outside)?.enqueue_fill(value)?;
            same(&host.synchronize()?, &vec![value; len], ("host", len));
        }
        spans(ctx, value, outside)?;
        pieces(ctx, value, outside)?;
        odd_addresses(ctx, value)?;
    }
    Ok(())
}

/// Parts of device memory, written and unwritten, that start and end at any element.
fn spans<T: DType>(ctx: &DeviceContext, value: T, outside: T) -> Result<(), Error> {
    const COUNT: usize = 37;
    for start in 0..6 {
        for end in [start, start + 1, start + 2, 17, COUNT - 1, COUNT] {
            let mut dev = ctx.enqueue_create_buffer::<T>(COUNT)?.enqueue_fill(outside)?;
            dev.as_span_mut().slice(start..end)?.enqueue_fill(value)?;
            same(&dev.to_vec()?, &mixed(COUNT, start..end, value, outside), ("span", start, end));
        }
        let mut raw = ctx.enqueue_create_buffer::<T>(COUNT)?;
        let (mut low, mut high) = raw.as_span_mut().split_at(start)?;
        high.enqueue_fill(value)?;
        low.enqueue_fill(outside)?;
        // SAFETY: both parts were filled.
        let dev = unsafe { raw.assume_init() };
        same(&dev.to_vec()?, &mixed(COUNT, start..COUNT, value, outside), ("unwritten span", start));
    }
    Ok(())
}

/// Parts of host memory, each in flight by itself.
fn pieces<T: DType>(ctx: &DeviceContext, value: T, outside: T) -> Result<(), Error> {
    const COUNT: usize = 19;
    for start in 0..6 {
        let (low, rest) = ctx.create_host_buffer_from(&[outside; COUNT])?.into_split_at(start)?;
        let (middle, high) = rest.into_split_at(7)?;
        let middle = middle.enqueue_fill(value)?;
        let high = high.enqueue_fill(value)?.enqueue_fill(outside)?;
        let (middle, high) = ctx.synchronize((middle, high))?;
        let host = HostBuffer::rejoin([low, middle, high])?;
        same(&host, &mixed(COUNT, start..start + 7, value, outside), ("piece", start));
    }
    Ok(())
}

/// Device memory seen as these elements from any address that is aligned for them, which may be less than their size.
fn odd_addresses<T: DType>(ctx: &DeviceContext, value: T) -> Result<(), Error> {
    const BLANK: u8 = 0xEE;
    for step in [0, 1, 2, 3, 5, 7, 8] {
        for count in [0, 1, 2, 3, 16, 101] {
            let (from, to) = (step * T::ALIGN, step * T::ALIGN + count * T::SIZE);
            let total = to + 5;
            let mut dev = ctx.enqueue_create_buffer::<u8>(total)?.enqueue_fill(BLANK)?;
            dev.as_span_mut().slice(from..to)?.view::<T>()?.enqueue_fill(value)?;
            let mut wanted = vec![BLANK; total];
            wanted[from..to].copy_from_slice(bytes(&vec![value; count]));
            same(&dev.to_vec()?, &wanted, (T::NAME, "from byte", from, count));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: i32,
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Pixel {
    red: u8,
    green: u8,
    blue: u8,
    alpha: u8,
}

#[derive(Clone, Copy, DType)]
#[repr(C)]
struct Odd {
    tag: u16,
    name: [u8; 3],
    end: u8,
    last: i16,
    more: [Pixel; 3],
}

#[test]
fn fills_of_integers() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    fills_of(&ctx, &[0x12u8, 0])?;
    fills_of(&ctx, &[-5i8, 0])?;
    fills_of(&ctx, &[0x1234u16, 0x4141])?;
    fills_of(&ctx, &[-2i16, i16::MIN])?;
    fills_of(&ctx, &[0x1234_5678u32, 0x4242_4242, 0x1234_1234])?;
    fills_of(&ctx, &[i32::MIN, -1])?;
    fills_of(&ctx, &[0x1234_5678_9ABC_DEF0u64, 0x1234_5678_1234_5678, 0x4242_4242_4242_4242])?;
    fills_of(&ctx, &[i64::MIN, 0x1234_1234_1234_1234])?;
    fills_of(&ctx, &[u128::MAX / 7, 0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF, 1])?;
    fills_of(&ctx, &[i128::MIN, -1])?;
    fills_of(&ctx, &[Wrapping(0x8000_0001u32), Wrapping(0)])?;
    Ok(())
}

#[test]
fn fills_of_floats() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    // Zeros and not-a-numbers have signs and payloads, which equality does not see.
    fills_of(&ctx, &[-0.0f32, 0.0, f32::from_bits(0xFFC1_2345), 1.5])?;
    fills_of(&ctx, &[-0.0f64, f64::from_bits(0xFFF8_1234_5678_9ABC), 1.5])?;
    fills_of(&ctx, &[half::f16::from_f32(-0.0), half::f16::from_f32(1.1), half::f16::from_bits(0xFE01)])?;
    fills_of(&ctx, &[half::bf16::from_f32(-0.0), half::bf16::from_f32(1.1), half::bf16::from_bits(0xFFC1)])?;
    fills_of(&ctx, &[F8E4M3::from_f32(-0.0), F8E4M3::from_f32(1.5), F8E4M3::NAN])?;
    fills_of(&ctx, &[F8E5M2::from_bits(0xFD), F8E5M2::from_f32(1.5), F8E5M2::NAN])?;
    fills_of(&ctx, &[Bool8::new(true), Bool8::from_bits(0xFE), Bool8::from_bits(3)])?;
    Ok(())
}

#[test]
fn fills_of_arrays_and_structs() -> Result<(), Error> {
    let Some(ctx) = context() else { return Ok(()) };
    fills_of(&ctx, &[[1u8, 2], [3, 3]])?;
    fills_of(&ctx, &[[1u8, 2, 3], [4, 4, 4]])?;
    fills_of(&ctx, &[[1u8, 2, 3, 4], [1, 2, 1, 2]])?;
    fills_of(&ctx, &[[1u8, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 1, 2, 3, 4]])?;
    fills_of(&ctx, &[[1u16, 2], [3, 3]])?;
    fills_of(&ctx, &[[1.0f32, 2.0, 3.0], [-0.0, 0.0, -0.0]])?;
    fills_of(&ctx, &[[1u64, 2], [3, 3]])?;
    fills_of(&ctx, &[[1u64, 2, 3], [4, 4, 4]])?;
    fills_of(&ctx, &[[[7u32; 3]; 3], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]])?;
    fills_of(&ctx, &[[u128::MAX / 3, 1], [2, 2]])?;
    let particle = |charge| Particle { position: [1.0, -0.0, 3.0], charge };
    fills_of(&ctx, &[particle(5), particle(-5)])?;
    let pixel = |red, alpha| Pixel { red, green: 2, blue: 3, alpha };
    fills_of(&ctx, &[pixel(1, 4), pixel(3, 2)])?;
    let odd = |tag| Odd { tag, name: *b"abc", end: 0, last: -1, more: [pixel(9, 8); 3] };
    fills_of(&ctx, &[odd(1), odd(2)])?;
    fills_of(&ctx, &[PodElement([1u8, 2, 3]), PodElement([4, 4, 4])])?;
    fills_of(&ctx, &[PodElement(0x1234u16), PodElement(0)])?;
    fills_of(&ctx, &[PodElement([1.0f32, 2.0, 3.0, 4.0]), PodElement([5.0; 4])])?;
    Ok(())
}
