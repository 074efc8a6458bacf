//! GPUs beside each other and beside other CUDA code: raw streams and memory in and out, peer copies, registered memory,
//! and what a pipeline over several streams asks of the driver. On a real GPU and on the fake driver; what only the fake
//! one can tell, or what takes more GPUs than there are, is skipped elsewhere.
#![cfg(feature = "cuda")]

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output};
use std::ptr;

use escrow::cust::context::{Context, CurrentContext};
use escrow::cust::memory::DeviceBuffer as CustBuffer;
use escrow::cust::sys::{self, CUresult, CUstream};
use escrow::{Device, DeviceBuffer, DeviceContext, Dyn, Error, Fault, InFlight};
use escrow_tests::{fake, gpu};

fn context() -> Option<DeviceContext> {
    gpu().map(|gpu| DeviceContext::new(gpu).expect("a stream"))
}

fn ok(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// Runs a test of this program again, with these variables. There `ESCROW_CUDA_CHILD` is set.
fn child(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .env("ESCROW_CUDA_CHILD", test)
        .envs(variables.iter().copied())
        .output()
        .expect("this program starts")
}

fn is_child(test: &str) -> bool {
    env::var("ESCROW_CUDA_CHILD").is_ok_and(|child| child == test)
}

#[track_caller]
fn succeeded(output: &Output) {
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{wrong}");
}

/// In its strict mode the fake driver wants the contexts of both sides of an edge to be current, which no thread can have.
fn is_strict() -> bool {
    env::var("FAKE_CUDA_STRICT").is_ok_and(|strict| strict == "1")
}

/// Runs `f` where there are two GPUs: here, or in a child that the fake driver shows two.
fn with_two_gpus(test: &str, f: impl FnOnce(Device, Device) -> Result<(), Error>) -> Result<(), Error> {
    let Some(first) = gpu() else { return Ok(()) };
    if is_strict() {
        return Ok(());
    }
    match Device::cuda(1) {
        Ok(second) => f(first, second),
        Err(Error::NoDevice { .. }) if !is_child(test) && fake::is_here() => {
            succeeded(&child(test, &[("FAKE_CUDA_DEVICES", "2")]));
            Ok(())
        }
        Err(Error::NoDevice { .. }) => {
            println!("skipped: there is one GPU");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

#[test]
fn what_a_gpu_tells() -> Result<(), Error> {
    let Some(gpu) = gpu() else { return Ok(()) };
    let memory = gpu.memory_info()?;
    assert!(memory.free <= memory.total && memory.total > 1 << 20);
    assert_eq!(gpu.ordinal(), Some(0));
    assert!(gpu.compute_capability() >= Some((3, 0)));
    assert!(gpu.driver_version() >= Some((11, 2)));
    assert!(Device::all().contains(&gpu) && Device::default_device()? == gpu);
    Ok(())
}

// The pipeline: four chunks, three streams. Each chunk is uploaded on the first, changed on the second and downloaded on
// the third, so the three overlap.

escrow::streams! { Up, Compute, Down }

const CHUNKS: usize = 4;
const LEN: usize = 1 << 14;

/// One driver call with its arguments: handles and addresses by the order in which they first appear.
fn normal(log: &[String]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut number = |word: &str| {
        let value = word.strip_prefix("0x").map_or_else(|| word.parse(), |hex| u64::from_str_radix(hex, 16));
        let Ok(value @ 0x1_0000..) = value else { return word.to_owned() };
        let at = seen.iter().position(|known| *known == value).unwrap_or_else(|| {
            seen.push(value);
            seen.len() - 1
        });
        format!("#{at}")
    };
    let call = |line: &String| {
        // `[operation] name(a=1, b=2) = 0`; where a result goes is the caller's stack.
        let line = line.split_once("] ").map_or(line.as_str(), |(_, call)| call);
        let (name, rest) = line.split_once('(').expect("arguments");
        let arguments = rest.split_once(')').expect("arguments").0.split(", ").filter_map(|a| a.split_once('='));
        let arguments: Vec<String> =
            arguments.filter(|(name, _)| *name != "place").map(|(_, value)| number(value)).collect();
        format!("{name}({})", arguments.join(", "))
    };
    log.iter().map(call).collect()
}

/// The pipeline as one writes it with the driver alone.
///
/// # Safety
/// Live streams of one context, an event of it, and pinned blocks of `LEN` words that nothing uses.
unsafe fn raw_pipeline(streams: [CUstream; 3], event: sys::CUevent, blocks: &[(*mut u32, *mut u32)]) {
    let [up, compute, down] = streams;
    for &(from, to) in blocks {
        let (bytes, mut memory) = (LEN * 4, 0);
        // SAFETY: this function's contract; the memory is freed behind its uses.
        unsafe {
            ok(sys::cuMemAllocAsync(&raw mut memory, bytes, up));
            ok(sys::cuMemcpyHtoDAsync_v2(memory, from.cast(), bytes, up));
            ok(sys::cuEventRecord(event, up));
            ok(sys::cuStreamWaitEvent(compute, event, 0));
            ok(sys::cuMemsetD32Async(memory, 7, LEN / 2, compute));
            ok(sys::cuEventRecord(event, compute));
            ok(sys::cuStreamWaitEvent(down, event, 0));
            ok(sys::cuMemcpyDtoHAsync_v2(to.cast(), memory, bytes, down));
            ok(sys::cuMemFreeAsync(memory, down));
        }
    }
    // SAFETY: the stream lives.
    ok(unsafe { sys::cuStreamSynchronize(down) });
}

type Host<S> = escrow::HostBuffer<u32, S>;

/// The same with this library.
fn pipeline(
    (up, compute, down): (&DeviceContext<Up>, &DeviceContext<Compute>, &DeviceContext<Down>),
    blocks: Vec<(Host<Up>, Host<Down>)>,
) -> Result<Vec<(Host<Down>, Host<Down>)>, Error> {
    let mut flights = Vec::with_capacity(blocks.len());
    for (from, to) in blocks {
        let (dev, from) = up.enqueue_create_buffer_from(from)?;
        let (mut dev, from) = up.handoff((dev, from), compute)?;
        dev.as_span_mut().slice(..LEN / 2)?.enqueue_fill(7)?;
        let (dev, from) = compute.handoff((dev, from), down)?;
        let to = dev.enqueue_copy_to(to)?;
        flights.push((from, to));
    }
    let flights: Vec<(InFlight<Host<Down>>, InFlight<Host<Down>>)> = flights;
    Ok(down.synchronize(flights)?)
}

#[test]
fn a_pipeline_makes_the_calls_of_raw_code() -> Result<(), Error> {
    const TEST: &str = "a_pipeline_makes_the_calls_of_raw_code";
    if gpu().is_none()
        || !fake::is_here()
        || env::var("FAKE_CUDA_POOLS").is_ok()
        || env::var("FAKE_CUDA_STRICT").is_ok()
    {
        return Ok(());
    }
    if !is_child(TEST) {
        // Alone in its process: the log is of all threads.
        succeeded(&child(TEST, &[]));
        return Ok(());
    }
    let up = DeviceContext::tagged(Up, Device::cuda(0)?)?;
    let (compute, down) = (up.fork_tagged(Compute)?, up.fork_tagged(Down)?);
    let blocks = || -> Result<Vec<_>, Error> {
        (0..CHUNKS as u32)
            .map(|chunk| Ok((up.create_host_buffer_from(&vec![chunk; LEN])?, down.create_host_buffer::<u32>(LEN)?)))
            .collect()
    };
    // Once before: the first events come from the driver.
    pipeline((&up, &compute, &down), blocks()?)?;
    let made = blocks()?;
    let mut done = Vec::new();
    let ours = normal(&fake::log(|| done = pipeline((&up, &compute, &down), made).expect("no failure")));
    for (chunk, (from, to)) in done.iter().enumerate() {
        assert_eq!(from[..], vec![chunk as u32; LEN]);
        assert_eq!(to[..LEN / 2], vec![7; LEN / 2]);
        assert_eq!(to[LEN / 2..], vec![chunk as u32; LEN / 2]);
    }

    let _current = current(0);
    let mut event = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    ok(unsafe { sys::cuEventCreate(&raw mut event, 2) });
    let mut taken: Vec<_> = blocks()?;
    let raw: Vec<(*mut u32, *mut u32)> = taken.iter_mut().map(|(a, b)| (a.as_mut_ptr(), b.as_mut_ptr())).collect();
    let streams = [up.cuda_stream(), compute.cuda_stream(), down.cuda_stream()].map(|stream| stream.expect("a GPU's"));
    // SAFETY: streams of one context, an event of it, and blocks that nothing else uses.
    let raw = normal(&fake::log(|| unsafe { raw_pipeline(streams, event, &raw) }));
    assert_eq!(raw.len(), 9 * CHUNKS + 1);
    for (at, (ours, raw)) in ours.iter().zip(&raw).enumerate() {
        assert_eq!(ours, raw, "call {at}");
    }
    assert_eq!(ours.len(), raw.len());
    Ok(())
}

/// The primary context of a GPU, current until the result is dropped or another one is.
fn current(ordinal: u32) -> Context {
    escrow::cust::init(escrow::cust::CudaFlags::empty()).expect("a driver");
    let device = escrow::cust::device::Device::get_device(ordinal).expect("a GPU");
    let context = Context::new(device).expect("its context");
    CurrentContext::set_current(&context).expect("current");
    context
}

fn stream(flags: u32) -> CUstream {
    let mut stream = ptr::null_mut();
    // SAFETY: the address is valid for the call.
    ok(unsafe { sys::cuStreamCreate(&raw mut stream, flags) });
    stream
}

#[test]
fn streams_of_others() -> Result<(), Error> {
    let Some(gpu) = gpu() else { return Ok(()) };
    let _current = current(0);
    for handle in [0usize, 1, 2] {
        // SAFETY: one of the three handles that are always there.
        let refused = unsafe { DeviceContext::from_cuda_stream(Dyn, gpu.clone(), ptr::without_provenance_mut(handle)) };
        assert!(matches!(refused, Err(Error::Refused { .. })), "{handle}: {refused:?}");
    }
    let blocking = stream(0);
    // SAFETY: the stream lives.
    let refused = unsafe { DeviceContext::from_cuda_stream(Dyn, gpu.clone(), blocking) };
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    // SAFETY: no context took it.
    ok(unsafe { sys::cuStreamDestroy_v2(blocking) });
    let theirs = stream(1);
    // SAFETY: the stream lives.
    let refused = unsafe { DeviceContext::from_cuda_stream(Dyn, Device::cpu(), theirs) };
    assert!(matches!(refused, Err(Error::WrongDevice { .. })), "{refused:?}");

    for round in 0..3u32 {
        // SAFETY: the stream is destroyed below, behind everything that was made with it.
        let ctx = unsafe { DeviceContext::from_cuda_stream(Up, gpu.clone(), theirs) }?;
        assert_eq!(ctx.cuda_stream(), Some(theirs));
        let dev = ctx.enqueue_create_buffer::<u32>(1000)?.enqueue_fill(round)?;
        let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u32>(1000)?)?;
        let there = ctx.handoff(dev, &ctx.fork()?)?;
        assert_eq!(there.to_vec()?, vec![round; 1000]);
        if round == 0 {
            assert_eq!(ctx.synchronize(host)?[..], vec![round; 1000]);
        } else {
            drop(host); // in flight, with the last handle
        }
    }
    // Ours never come to it, and what was parked there is freed.
    let ours: Vec<DeviceContext> = (0..8).map(|_| DeviceContext::new(gpu.clone())).collect::<Result<_, _>>()?;
    assert!(ours.iter().all(|ctx| ctx.cuda_stream() != Some(theirs)));
    // SAFETY: no handle of a context of it is left.
    ok(unsafe { sys::cuStreamDestroy_v2(theirs) });
    for ctx in &ours {
        assert_eq!(ctx.enqueue_create_buffer_zeroed::<u8>(10)?.to_vec()?, [0; 10]);
    }
    gpu.trim();
    Ok(())
}

#[test]
fn memory_of_others() -> Result<(), Box<dyn std::error::Error>> {
    let Some(ctx) = context() else { return Ok(()) };
    let _current = current(0);
    // In, by value.
    let theirs = CustBuffer::from_slice(&[1.0f32, 2.0, 3.0])?;
    CurrentContext::synchronize()?;
    // SAFETY: nothing is pending on it, and there is no other pointer.
    let mut dev = unsafe { DeviceBuffer::from_cust(&ctx, theirs) }?;
    assert_eq!(dev.to_vec()?, [1.0, 2.0, 3.0]);
    dev.enqueue_fill(4.0)?;
    // And out again.
    let theirs = dev.into_cust()?;
    assert_eq!(theirs.as_host_vec()?, [4.0; 3]);
    // By reference.
    let raw = theirs.as_device_ptr().as_raw();
    // SAFETY: `theirs` outlives the wait in `to_vec`.
    let mut view = unsafe { DeviceBuffer::<f32>::from_cuda_ptr(&ctx, raw, 3) }?;
    assert_eq!(view.unsafe_ptr().cuda_ptr(), raw);
    view.enqueue_fill(5.0)?;
    assert_eq!(view.to_vec()?, [5.0; 3]);
    let Err(Fault { error, value: view }) = view.into_cust() else { panic!("not ours to give") };
    assert!(matches!(error, Error::Refused { .. }));
    let shared = view.into_shared()?;
    let elsewhere = shared.share_with(&ctx.fork()?)?;
    assert_eq!(elsewhere.to_vec()?, [5.0; 3]);
    drop((shared, elsewhere));
    ctx.synchronize(())?;
    assert_eq!(theirs.as_host_vec()?, [5.0; 3]);
    drop(theirs);
    // What was ours from the start: from the pool.
    let theirs = ctx.enqueue_create_buffer::<u64>(100)?.enqueue_fill(6)?.into_cust()?;
    assert_eq!(theirs.as_host_vec()?, [6; 100]);
    // SAFETY: as above.
    let dev = unsafe { DeviceBuffer::from_cust(&ctx, theirs) }?;
    drop(dev);
    ctx.synchronize(())?;
    ctx.device().trim();
    // No elements, and what is refused.
    assert!(DeviceBuffer::<f32>::empty(&ctx).into_cust()?.is_empty());
    // SAFETY: nothing to read.
    assert!(unsafe { DeviceBuffer::<f32>::from_cuda_ptr(&ctx, 0, 0) }?.is_empty());
    // SAFETY: refused.
    let null = unsafe { DeviceBuffer::<f32>::from_cuda_ptr(&ctx, 0, 1) };
    assert!(matches!(null, Err(Error::Refused { .. })));
    let cpu = DeviceContext::new(Device::cpu())?;
    let theirs = CustBuffer::from_slice(&[1u8])?;
    // SAFETY: refused.
    let Err(Fault { error, value }) = (unsafe { DeviceBuffer::from_cust(&cpu, theirs) }) else { panic!("no GPU") };
    assert!(matches!(error, Error::WrongDevice { .. }));
    assert_eq!(value.as_host_vec()?, [1]);
    let odd = value.as_device_ptr().as_raw() + 1;
    // SAFETY: refused.
    let odd = unsafe { DeviceBuffer::<f32>::from_cuda_ptr(&ctx, odd, 1) };
    assert!(matches!(odd, Err(Error::Layout { .. })));
    Ok(())
}

/// Copies between two GPUs, with writes and frees of the source behind them.
fn peers(first: &DeviceContext, second: &DeviceContext) -> Result<(), Error> {
    const LEN: usize = 100_000;
    let mut here = first.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(1)?;
    let mut there = second.enqueue_create_buffer::<u32>(LEN)?.enqueue_copy_peer(&here)?;
    here.enqueue_fill(2)?;
    let kept = second.enqueue_create_buffer_from(&there)?;
    there.enqueue_copy_peer(&here)?;
    drop(here); // in stream order, behind the copy
    let again = first.enqueue_create_buffer::<u32>(LEN)?.enqueue_fill(3)?;
    assert_eq!((kept.to_vec()?, there.to_vec()?), (vec![1; LEN], vec![2; LEN]));
    let mut back = first.enqueue_create_buffer::<u32>(LEN)?.enqueue_copy_peer(&there)?;
    back.enqueue_copy_peer(&again)?; // of one stream
    let mut other = first.fork()?.enqueue_create_buffer_zeroed::<u32>(LEN)?;
    other.enqueue_copy_peer(&back)?; // of one device
    assert_eq!(other.to_vec()?, vec![3; LEN]);
    Ok(())
}

#[test]
fn two_gpus() -> Result<(), Error> {
    with_two_gpus("two_gpus", |first, second| {
        assert_ne!(first, second);
        let (a, b) = (DeviceContext::new(first)?, DeviceContext::new(second)?);
        peers(&a, &b)?;
        peers(&b, &a)?;
        // Nothing else crosses.
        let src = a.enqueue_create_buffer_zeroed::<u32>(4)?;
        let mut dst = b.enqueue_create_buffer_zeroed::<u32>(4)?;
        assert!(matches!(dst.enqueue_copy_from(&src), Err(Fault { error: Error::WrongDevice { .. }, .. })));
        assert!(matches!(a.handoff(src, &b), Err(Fault { error: Error::WrongDevice { .. }, .. })));
        // Pinned memory is that of all GPUs.
        let host = a.create_host_buffer_from(&[8u32; 4])?;
        let host = dst.enqueue_copy_from(host)?;
        assert_eq!(b.synchronize(host)?[..], dst.to_vec()?);
        // A GPU and the CPU.
        let cpu = DeviceContext::new(Device::cpu())?.enqueue_create_buffer_zeroed::<u32>(4)?;
        assert!(matches!(dst.enqueue_copy_peer(&cpu), Err(Error::WrongDevice { .. })));
        Ok(())
    })
}

#[test]
fn memory_is_freed_on_its_own_gpu() -> Result<(), Error> {
    with_two_gpus("memory_is_freed_on_its_own_gpu", |first, second| {
        let ctx = DeviceContext::new(first.clone())?;
        let before = fake::live_allocations();
        let used = |gpu: &Device| gpu.memory_info().map(|memory| memory.total - memory.free);
        let (here, there) = (used(&first)?, used(&second)?);
        {
            let dev = ctx.enqueue_create_buffer::<u8>(64 << 20)?.enqueue_fill(1)?;
            let host = dev.enqueue_copy_to(ctx.create_host_buffer::<u8>(64 << 20)?)?;
            let shared = dev.into_shared()?;
            let elsewhere = shared.share_with(&ctx.fork()?)?;
            let _other = current(1);
            drop((host, elsewhere, shared));
        }
        ctx.synchronize(())?;
        let _other = current(1);
        for _ in 0..10 {
            first.trim(); // asks each time whether the fork has ended
        }
        if fake::is_here() {
            assert_eq!(fake::live_allocations(), before);
            assert_eq!((used(&first)?, used(&second)?), (here, there));
        }
        Ok(())
    })
}

/// Each driver call of a peer copy fails in turn, also two at once; where the call says that it went well, the values are
/// right. The fake driver ends the process at the first race or use after free. (No context fails for good here: the fake
/// one then frees at once what a stream was to free in order, though the other GPU may still read it.)
#[test]
fn peer_copies_that_fail() {
    const TEST: &str = "peer_copies_that_fail";
    if is_child(TEST) {
        let devices = || Ok::<_, Error>((Device::cuda(0)?, Device::cuda(1)?));
        let Ok((first, second)) = devices() else { return };
        let contexts = || Ok::<_, Error>((DeviceContext::new(first)?, DeviceContext::new(second)?));
        let Ok((a, b)) = contexts() else { return };
        let done = peers(&a, &b);
        println!("calls {} {done:?}", fake::calls("*"));
        return;
    }
    if gpu().is_none() || !fake::is_here() || is_strict() {
        return;
    }
    let run = |fault: &str| {
        let output = child(TEST, &[("FAKE_CUDA_DEVICES", "2"), ("FAKE_CUDA_FAIL", fault)]);
        let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{fault}: {said}{wrong}");
        said.into_owned()
    };
    let said = run("");
    let calls = said.split_whitespace().skip_while(|word| *word != "calls").nth(1).and_then(|word| word.parse().ok());
    let calls: u64 = calls.unwrap_or_else(|| panic!("the number of calls: {said}"));
    assert!(said.contains("Ok") && calls > 40, "{said}");
    for nth in 1..=calls {
        run(&format!("*:{nth}:2"));
        run(&format!("*:{nth}:2:after"));
    }
    // The edge back fails, so the host waits instead, and all is well; and that wait fails too.
    for edge in ["cuEventRecord:2:2", "cuStreamWaitEvent:2:2", "cuStreamWaitEvent:2:2:after"] {
        let said = run(edge);
        assert!(said.contains("Ok"), "{edge}: {said}");
        let said = run(&format!("{edge},cuStreamSynchronize:1:2"));
        assert!(said.contains("Err"), "{edge}: {said}");
    }
}

#[test]
fn registered_memory_is_copied_directly() -> Result<(), Error> {
    const LEN: usize = 3 << 20;
    let Some(ctx) = context() else { return Ok(()) };
    let mut values: Vec<u32> = (0..LEN as u32).collect();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN / 2)?;
    for _ in 0..2 {
        ctx.scope(|s| {
            let (mut low, high) = s.register(&mut values)?.split_at(LEN / 2)?;
            dev.enqueue_copy_from(&high)?;
            dev.enqueue_copy_to(&mut low)?;
            let host = ctx.create_host_buffer::<u32>(LEN / 2)?.enqueue_copy_from(&low)?;
            assert_eq!(ctx.synchronize(host)?[5], (LEN / 2) as u32 + 5);
            Ok(())
        })?;
    }
    assert_eq!(values[..LEN / 2], values[LEN / 2..]);
    // Unpinned also when the scope fails or panics: it can be pinned again.
    for _ in 0..2 {
        let failed: Result<(), Error> = ctx.scope(|s| {
            dev.enqueue_copy_from(&s.register(&mut values[..LEN / 2])?)?;
            Err(Error::EmptyChunk)
        });
        assert!(matches!(failed, Err(Error::EmptyChunk)));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            ctx.scope(|s| -> Result<(), Error> {
                dev.enqueue_copy_to(&mut s.register(&mut values[..LEN / 2])?)?;
                std::panic::resume_unwind(Box::new("wanted"));
            })
        }));
        assert!(panicked.is_err());
    }
    // What is pinned already is refused.
    let mut host = ctx.create_host_buffer::<u8>(100)?;
    let refused = ctx.scope(|s| s.register(&mut host).map(|span| span.len()));
    assert!(matches!(refused, Err(Error::Driver { .. })), "{refused:?}");
    assert!(ctx.scope(|s| Ok(s.register::<u8>(&mut [])?.is_empty()))?);
    Ok(())
}

#[test]
fn registered_memory_that_cannot_be_given_back_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;
    const TEST: &str = "registered_memory_that_cannot_be_given_back_ends_the_process";
    const ABORT: i32 = 6;
    if is_child(TEST) {
        let ctx = context().expect("a GPU");
        let dev = ctx.enqueue_create_buffer_zeroed::<u8>(100).expect("memory");
        let (mut values, mut lent) = ([1u8; 100], [1u8; 100]);
        let copied = ctx.scope(|s| match s.register(&mut values) {
            Ok(mut span) => Ok(dev.enqueue_copy_to(&mut span)?),
            Err(_) => Ok(dev.enqueue_copy_to(s.lend_mut(&mut lent))?),
        });
        println!("came back: {}", copied.is_ok());
        return;
    }
    if gpu().is_none() || !fake::is_here() {
        return;
    }
    let run = |fault| child(TEST, &[("FAKE_CUDA_FAIL", fault)]);
    let said = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said(&run("")).contains("came back: true"));
    for fault in ["cuMemHostUnregister:1:719", "cuStreamSynchronize:1:719", "cuStreamSynchronize:1:719:sticky"] {
        let output = run(fault);
        assert_eq!(output.status.signal(), Some(ABORT), "{fault}: {output:?}");
        assert!(!said(&output).contains("came back"), "{fault}: {output:?}");
    }
    // Where nothing is registered a failed wait is an error.
    let output = run("cuMemHostRegister_v2:1:2,cuStreamSynchronize:1:719");
    assert!(said(&output).contains("came back: false"), "{output:?}");
}
