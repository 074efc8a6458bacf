//! What the CPU device costs: `cargo bench -p escrow --bench cpu`.
//!
//! `enqueue` times the call alone (one sample is a batch that fits the queue; the stream is idle before it), `round_trip`
//! the call and the wait for it on an idle stream, `copy_64_mib` a large copy beside `memcpy` in the same run.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use escrow::{Device, DeviceBuffer, DeviceContext, HostBuffer, InFlight};

fn main() {
    divan::main();
}

const SMALL: usize = 4 << 10;
const LARGE: usize = 64 << 20;

fn context() -> DeviceContext {
    DeviceContext::new(Device::cpu()).expect("a thread for the stream")
}

fn device(ctx: &DeviceContext, bytes: usize) -> DeviceBuffer<u8> {
    ctx.enqueue_create_buffer_zeroed(bytes).expect("memory")
}

fn host(ctx: &DeviceContext, bytes: usize) -> HostBuffer<u8> {
    let mut host = ctx.create_host_buffer(bytes).expect("memory");
    host.fill(1);
    host
}

/// A batch of calls on a stream that was idle before the first.
mod enqueue {
    use super::*;

    const BATCH: u32 = 512;

    #[divan::bench(sample_size = BATCH, sample_count = 200)]
    fn copy_4_kib_device_to_device(bencher: Bencher) {
        let ctx = context();
        let src = device(&ctx, SMALL);
        let mut dst = device(&ctx, SMALL);
        bencher
            .with_inputs(|| ctx.synchronize(()).expect("no kernel ran"))
            .bench_local_values(|()| dst.enqueue_copy_from(&src));
    }

    #[divan::bench(sample_size = BATCH, sample_count = 200)]
    fn copy_4_kib_host_to_device(bencher: Bencher) {
        let ctx = context();
        let mut dst = device(&ctx, SMALL);
        let mut flight: Option<InFlight<HostBuffer<u8>>> =
            Some(host(&ctx, SMALL).enqueue_fill(1).expect("the stream is up"));
        bencher.with_inputs(|| ctx.synchronize(()).expect("no kernel ran")).bench_local_values(|()| {
            let host = flight.take().expect("it comes back each time");
            flight = Some(dst.enqueue_copy_from(host).expect("lengths are equal"));
        });
    }

    #[divan::bench(sample_size = BATCH, sample_count = 200)]
    fn fill_4_kib(bencher: Bencher) {
        let ctx = context();
        let mut dst = device(&ctx, SMALL);
        bencher
            .with_inputs(|| ctx.synchronize(()).expect("no kernel ran"))
            .bench_local_values(|()| dst.enqueue_fill(7));
    }
}

/// From the call to the end of the wait for it, on an idle stream.
#[divan::bench(sample_count = 500, sample_size = 10)]
fn round_trip_4_kib(bencher: Bencher) {
    let ctx = context();
    let src = device(&ctx, SMALL);
    let mut dst = device(&ctx, SMALL);
    bencher.bench_local(|| {
        dst.enqueue_copy_from(&src).expect("lengths are equal");
        ctx.synchronize(()).expect("no kernel ran");
    });
}

mod copy_64_mib {
    use super::*;

    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn host_to_device(bencher: Bencher) {
        let ctx = context();
        let mut dst = device(&ctx, LARGE);
        let mut at_rest = Some(host(&ctx, LARGE));
        bencher.counter(BytesCount::new(LARGE)).bench_local(|| {
            let host = at_rest.take().expect("it comes back each time");
            let flight = dst.enqueue_copy_from(host).expect("lengths are equal");
            at_rest = Some(ctx.synchronize(flight).expect("no kernel ran"));
        });
    }

    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn memcpy(bencher: Bencher) {
        let ctx = context();
        let src = host(&ctx, LARGE);
        let mut dst = host(&ctx, LARGE);
        bencher.counter(BytesCount::new(LARGE)).bench_local(|| {
            dst.copy_from_slice(black_box(&src));
        });
    }

    #[divan::bench(sample_count = 30, sample_size = 1)]
    fn fill(bencher: Bencher) {
        let ctx = context();
        let mut dst = ctx.enqueue_create_buffer_zeroed::<f64>(LARGE / 8).expect("memory");
        bencher.counter(BytesCount::new(LARGE)).bench_local(|| {
            dst.enqueue_fill(1.5).expect("the stream is up");
            ctx.synchronize(()).expect("no kernel ran");
        });
    }
}

mod memory {
    use super::*;

    #[divan::bench(sample_size = 200, sample_count = 200)]
    fn create_and_drop_4_kib_device_buffer(bencher: Bencher) {
        let ctx = context();
        bencher.bench_local(|| drop(black_box(ctx.enqueue_create_buffer::<u8>(SMALL))));
    }

    #[divan::bench(sample_size = 200, sample_count = 200)]
    fn create_and_drop_4_kib_host_buffer(bencher: Bencher) {
        let ctx = context();
        bencher.bench_local(|| drop(black_box(ctx.create_host_buffer::<u8>(SMALL))));
    }
}
