//! Calls on a stream need no context, as drivers are today; where one answers that it wants its own, it gets it, once. On
//! the fake driver, under the context of another GPU.
#![cfg(feature = "cuda")]

use escrow::cust::context::{Context, CurrentContext};
use escrow::cust::sys;
use escrow::{Device, DeviceBuffer, DeviceContext, Error, Fault, HostBuffer, InFlight};
use escrow_tests::fake;

const INVALID_VALUE: i32 = 1;
const INVALID_CONTEXT: i32 = 201;
const NOT_READY: i32 = 600;
const UNKNOWN: i32 = 999;
const LEN: usize = 100;

#[escrow::kernels(struct Blas, ptx = "../examples/kernels/blas.ptx")]
// SAFETY: thread `i` writes `y[i]`, for `i < n`.
unsafe extern "kernel" {
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

/// What the operations work on; all of it survives failures.
struct Bench {
    ctx: DeviceContext,
    other: DeviceContext,
    blas: Blas,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    flight: Option<InFlight<HostBuffer<f32>>>,
}

/// Error and value of a call that may have failed.
fn split<V>(result: Result<V, Fault<V>>) -> (Result<(), Error>, V) {
    match result {
        Ok(value) => (Ok(()), value),
        Err(Fault { error, value }) => (Err(error), value),
    }
}

impl Bench {
    fn new(device: Device) -> Result<Bench, Error> {
        let ctx = DeviceContext::new(device)?;
        let other = ctx.fork()?;
        let x = ctx.enqueue_create_buffer::<f32>(LEN)?.enqueue_fill(1.0)?;
        let y = ctx.enqueue_create_buffer::<f32>(LEN)?.enqueue_fill(2.0)?;
        let flight = Some(ctx.create_host_buffer::<f32>(LEN)?.enqueue_fill(3.0)?);
        let blas = Blas::load(ctx.device())?;
        Ok(Bench { ctx, other, blas, x, y, flight })
    }

    fn with_flight(
        &mut self,
        f: impl FnOnce(&mut Bench, InFlight<HostBuffer<f32>>) -> (Result<(), Error>, InFlight<HostBuffer<f32>>),
    ) -> Result<(), Error> {
        let flight = self.flight.take().expect("it always comes back");
        let (result, flight) = f(self, flight);
        self.flight = Some(flight);
        result
    }

    /// One operation whose heart is this driver call.
    fn run(&mut self, call: &str) -> Result<(), Error> {
        match call {
            "cuMemcpyHtoDAsync_v2" => self.with_flight(|b, flight| split(b.x.enqueue_copy_from(flight))),
            "cuMemcpyDtoHAsync_v2" => self.with_flight(|b, flight| split(b.x.enqueue_copy_to(flight))),
            "cuMemcpyDtoDAsync_v2" => self.y.enqueue_copy_from(&self.x).map_err(Error::from),
            "cuMemcpyAsync" => self.with_flight(|b, flight| {
                let (result, (flight, second)) = match b.ctx.create_host_buffer::<f32>(LEN) {
                    Ok(second) => split(flight.enqueue_copy_to(second)),
                    Err(error) => return (Err(error), flight),
                };
                drop(second);
                (result, flight)
            }),
            "cuMemsetD32Async" => self.y.enqueue_fill(4.0),
            "cuLaunchKernel" => self.blas.saxpy(&self.ctx, 2.0, &self.x, &mut self.y),
            "cuMemAllocAsync" => self.ctx.enqueue_create_buffer::<f32>(LEN).map(drop),
            "cuEventRecord" | "cuEventSynchronize" => {
                let point = self.ctx.record(())?;
                point.wait().map_err(|fault| fault.error)
            }
            "cuEventQuery" => self.ctx.record(())?.is_finished().map(drop),
            "cuStreamWaitEvent" => {
                let (ctx, other) = (self.ctx.clone(), self.other.clone());
                self.x.on(&other, |_| Ok(()))?;
                ctx.synchronize(()).map_err(Error::from)
            }
            "cuStreamSynchronize" => self.ctx.synchronize(()).map_err(Error::from),
            _ => unreachable!("{call}"),
        }
    }
}

const CALLS: [&str; 12] = [
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyAsync",
    "cuMemsetD32Async",
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventQuery",
    "cuStreamWaitEvent",
    "cuStreamSynchronize",
];

/// Names and answers of the driver calls in a log.
fn calls(log: &[String]) -> Vec<(String, String)> {
    let call = |line: &String| {
        // `[operation] name(a=1, b=2) = 0`
        let line = line.split_once("] ").map_or(line.as_str(), |(_, call)| call);
        let name = line.split('(').next().unwrap_or_default();
        let answer = line.rsplit(" = ").next().unwrap_or_default();
        (name.to_owned(), answer.to_owned())
    };
    log.iter().map(call).collect()
}

/// The calls from the first of `name` on, up to the pop behind it.
fn around(log: &[String], name: &str) -> Vec<(String, String)> {
    let from_first = calls(log).into_iter().skip_while(|(call, _)| call != name);
    let mut taken = Vec::new();
    for call in from_first {
        let is_end = call.0 == "cuCtxPopCurrent_v2";
        taken.push(call);
        if is_end {
            break;
        }
    }
    taken
}

fn current() -> sys::CUcontext {
    let mut context = std::ptr::null_mut();
    // SAFETY: the address is valid for the call.
    assert_eq!(unsafe { sys::cuCtxGetCurrent(&raw mut context) }, sys::CUresult::CUDA_SUCCESS);
    context
}

/// Lets the first call of `name` answer `first`, and the second `second`, if that is not 0. The log around them, and the
/// result.
fn answered(bench: &mut Bench, name: &str, first: i32, second: i32) -> (Vec<(String, String)>, Result<(), Error>) {
    fake::fail(name, 1, first);
    if second != 0 {
        fake::fail(name, 2, second);
    }
    let mut result = Ok(());
    let log = fake::log(|| result = bench.run(name));
    (around(&log, name), result)
}

/// Broken on purpose: `CudaDevice::within` without its pop; `ask_again` that asks twice.
#[test]
fn a_call_that_wants_its_context_gets_it_once() -> Result<(), Error> {
    const TEST: &str = "a_call_that_wants_its_context_gets_it_once";
    let Some(()) = fake::alone(TEST, &[("FAKE_CUDA_DEVICES", "2")]) else { return Ok(()) };
    let mut bench = Bench::new(Device::cuda(0)?)?;
    let other = escrow::cust::device::Device::get_device(1).and_then(Context::new).expect("the second GPU");
    CurrentContext::set_current(&other).expect("a context");
    let theirs = current();
    let said = |name: &str, answer: i32| (name.to_owned(), answer.to_string());
    let repeated = |name: &str, first: i32, second: i32| {
        vec![said(name, first), said("cuCtxPushCurrent_v2", 0), said(name, second), said("cuCtxPopCurrent_v2", 0)]
    };
    for name in CALLS {
        // As drivers are today.
        let mut result = Ok(());
        let log = fake::log(|| result = bench.run(name));
        assert!(result.is_ok(), "{name}: {result:?}");
        let number = calls(&log).iter().filter(|(call, _)| call == name).count();

        let (log, result) = answered(&mut bench, name, INVALID_CONTEXT, 0);
        assert!(result.is_ok(), "{name}: {result:?}");
        // A query may also say that the stream is not there yet.
        let second = if name == "cuEventQuery" { log[2].1.parse().expect("a code") } else { 0 };
        assert!(second == 0 || second == NOT_READY, "{name}: {log:?}");
        assert_eq!(log, repeated(name, INVALID_CONTEXT, second), "{name}");
        assert_eq!(current(), theirs, "{name}: the thread's own context is back");

        for second in [INVALID_VALUE, INVALID_CONTEXT, UNKNOWN] {
            let before = fake::calls(name);
            let (log, result) = answered(&mut bench, name, INVALID_CONTEXT, second);
            assert!(matches!(result, Err(Error::Driver { code, .. }) if code == second), "{name}: {result:?}");
            assert_eq!(log, repeated(name, INVALID_CONTEXT, second), "{name}");
            assert!(fake::calls(name) - before <= number as u64 + 1, "{name}: once more, and not again");
            assert_eq!(current(), theirs, "{name}");
        }
    }

    // Of pool memory copies answer 1 under another context: they are repeated then, too, and once; nothing else is.
    for name in CALLS {
        let before = fake::calls(name);
        let (log, result) = answered(&mut bench, name, INVALID_VALUE, 0);
        if name.starts_with("cuMemcpy") {
            assert!(result.is_ok(), "{name}: {result:?}");
            assert_eq!(log, repeated(name, INVALID_VALUE, 0), "{name}");
            let (log, result) = answered(&mut bench, name, INVALID_VALUE, INVALID_VALUE);
            assert!(matches!(result, Err(Error::Driver { code: INVALID_VALUE, .. })), "{name}: {result:?}");
            assert_eq!(log, repeated(name, INVALID_VALUE, INVALID_VALUE), "{name}");
            assert_eq!(fake::calls(name) - before, 4, "{name}");
        } else {
            assert!(matches!(result, Err(Error::Driver { code: INVALID_VALUE, .. })), "{name}: {result:?}");
            assert_eq!(fake::calls(name) - before, 1, "{name}: not asked again");
        }
        assert_eq!(current(), theirs, "{name}");
    }

    // A drop has nobody to report to.
    let memory = bench.ctx.enqueue_create_buffer::<f32>(LEN)?;
    let live = fake::live_allocations();
    fake::fail("cuMemFreeAsync", 1, INVALID_CONTEXT);
    let log = fake::log(|| drop(memory));
    assert_eq!(calls(&log), repeated("cuMemFreeAsync", INVALID_CONTEXT, 0));
    bench.ctx.synchronize(())?;
    assert_eq!(fake::live_allocations(), live - 1);
    Ok(())
}
