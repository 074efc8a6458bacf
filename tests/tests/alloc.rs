//! Chained operations allocate nothing, and zero-length buffers neither.
//!
//! Counted on the calling thread only, so that other tests and workers do not disturb it.

use std::sync::Once;
use std::thread;

use escrow::{Device, DeviceBuffer, DeviceContext, HostBuffer};
use escrow_tests::{Counting, allocations, enqueue_mix, hold};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A context, after what is done once in a process: the first thread that has to wait asks the system for its cores.
fn context() -> DeviceContext {
    static ONCE: Once = Once::new();
    let ctx = DeviceContext::new(Device::cpu()).unwrap();
    ONCE.call_once(|| {
        // Each turn waits, unless this thread is held up just before it looks.
        for _ in 0..50 {
            let held = hold(&ctx).unwrap();
            thread::scope(|s| {
                s.spawn(|| {
                    (0..200).for_each(|_| thread::yield_now());
                    held.release();
                });
                ctx.synchronize(()).unwrap();
            });
        }
    });
    ctx
}

fn none<R>(what: &str, f: impl FnOnce() -> R) -> R {
    let (count, result) = allocations(f);
    assert_eq!(count, 0, "{what} allocated");
    result
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations(|| drop(Box::new([1u8; 100]))).0, 1);
    assert_eq!(allocations(|| drop(vec![0u64; 3])).0, 1);
}

#[test]
fn chained_operations_allocate_nothing() {
    chain(&context(), |ctx, a, b| enqueue_mix(ctx, a, b).unwrap());
}

/// The same on a GPU, whose driver allocates by itself, and launches of device code in place of bodies.
#[cfg(feature = "cuda")]
#[test]
fn chained_operations_allocate_nothing_on_a_gpu() {
    #[escrow::kernels(struct Blas, ptx = "../examples/kernels/blas.ptx")]
    // SAFETY: thread `i` writes `y[i]`, for `i < n`.
    unsafe extern "kernel" {
        #[launch(cover(y))]
        #[requires(x.len() == y.len())]
        safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
    }

    let Some(gpu) = escrow_tests::gpu() else { return };
    let ctx = DeviceContext::new(gpu).unwrap();
    let blas = Blas::load(ctx.device()).unwrap();
    chain(&ctx, |ctx, a, b| {
        let mut y = a.as_span_mut().view::<f32>().unwrap();
        blas.saxpy(ctx, 2.0, &b.as_span().view::<f32>().unwrap(), &mut y).unwrap();
    });

    // Fills that are no memsets.
    let mut wide = ctx.enqueue_create_buffer_zeroed::<u64>(100).unwrap();
    let mut odd = ctx.enqueue_create_buffer_zeroed::<[u8; 3]>(100).unwrap();
    for turn in 0..20 {
        let mut fills = || {
            wide.enqueue_fill(0x0123_4567_89AB_CDEF).unwrap();
            odd.enqueue_fill([5; 3]).unwrap();
            ctx.synchronize(()).unwrap();
        };
        // Elements of three bytes go by a staged copy of one of them, which is doubled.
        if turn == 0 { fills() } else { none("a fill", fills) }
    }

    // What Rust keeps for a buffer is kept for the next.
    for turn in 0..10 {
        let buffers = || {
            drop([(); 3].map(|()| ctx.enqueue_create_buffer::<u8>(5000).unwrap()));
            ctx.synchronize(()).unwrap();
        };
        if turn == 0 { buffers() } else { none("a buffer", buffers) }
    }
}

/// A chain of operations on two streams of a device, and `launch` in it, over and over.
fn chain(ctx: &DeviceContext, launch: impl Fn(&DeviceContext, &mut DeviceBuffer<u32>, &DeviceBuffer<u32>)) {
    let other = ctx.fork().unwrap();
    let mut a = ctx.enqueue_create_buffer_zeroed::<u32>(256).unwrap();
    let mut b = ctx.enqueue_create_buffer_zeroed::<u32>(256).unwrap();
    let host = ctx.create_host_buffer::<u32>(256).unwrap();
    let shared = ctx.create_host_buffer::<u32>(256).unwrap().into_shared();
    let mut flight = Some(host.enqueue_fill(1).unwrap());
    // The first turn makes what is made once, such as a parking list's room and the list of helpers.
    for turn in 0..20 {
        let mut chain = || {
            a.enqueue_fill(turn).unwrap();
            b.enqueue_copy_from(&a).unwrap();
            b.as_span_mut().slice(..128).unwrap().enqueue_copy_from(a.as_span().slice(128..).unwrap()).unwrap();
            b.as_span_mut().chunks(32).unwrap().for_each(|mut chunk| chunk.enqueue_fill(7).unwrap());
            launch(ctx, &mut a, &b);
            let f = flight.take().unwrap().enqueue_fill(2).unwrap();
            let f = a.enqueue_copy_from(f).unwrap();
            let f = f.enqueue_copy_to(&mut b).unwrap();
            let f = b.enqueue_copy_to(f).unwrap();
            let f = ctx.handoff(f, &other).unwrap();
            let f = other.handoff(f, ctx).unwrap();
            let host = ctx.synchronize(f).unwrap();
            let f = host.enqueue_fill(turn).unwrap();
            let host = ctx.record(f).unwrap().wait().unwrap();
            flight = Some(host.enqueue_fill(turn).unwrap());
            a.enqueue_copy_from(&shared).unwrap();
            a.on(&other, |a| a.enqueue_fill(1)).unwrap();
            ctx.synchronize(()).unwrap();
        };
        if turn == 0 { chain() } else { none("a chain", chain) }
    }
}

/// Enqueues, waits and landings one by one, on a stream that stands still: none hides behind another.
#[test]
fn enqueueing_allocates_nothing_while_the_stream_stands_still() {
    let ctx = context();
    let mut dev = ctx.enqueue_create_buffer_zeroed::<[u64; 16]>(64).unwrap();
    let host = ctx.create_host_buffer::<[u64; 16]>(64).unwrap();
    let held = hold(&ctx).unwrap();
    let mut flight = none("a copy", || dev.enqueue_copy_to(host).unwrap());
    for _ in 0..200 {
        flight = none("a copy up", || dev.enqueue_copy_from(flight).unwrap());
        none("a fill", || dev.enqueue_fill([1; 16]).unwrap());
        flight = none("a copy down", || dev.enqueue_copy_to(flight).unwrap());
    }
    held.release();
    let host = none("a wait", || ctx.synchronize(flight).unwrap());
    assert_eq!(host[63], [1; 16].map(|one: u64| one));
}

#[test]
fn containers_land_in_place() {
    let ctx = context();
    let flights = [0, 1, 2, 3].map(|i| ctx.create_host_buffer::<u8>(8).unwrap().enqueue_fill(i).unwrap());
    let hosts = none("a landing", || ctx.synchronize((flights, ())).unwrap().0);
    assert!(hosts.iter().enumerate().all(|(i, host): (usize, &HostBuffer<u8>)| host[..] == [i as u8; 8]));
    // A `Vec` needs one new one, since idle buffers are smaller than those in flight.
    let flights: Vec<_> = (0..10).map(|i| ctx.create_host_buffer::<u8>(8).unwrap().enqueue_fill(i).unwrap()).collect();
    let (count, hosts) = allocations(|| ctx.synchronize(flights).unwrap());
    assert!(count <= 1, "{count}");
    assert!(hosts.iter().enumerate().all(|(i, host): (usize, &HostBuffer<u8>)| host[..] == [i as u8; 8]));
}

#[test]
fn zero_length_buffers_allocate_nothing() {
    let ctx = context();
    none("no memory", || {
        let host = ctx.create_host_buffer::<u64>(0).unwrap();
        let (mut dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
        dev.enqueue_fill(1).unwrap();
        let flight = dev.enqueue_copy_to(flight).unwrap();
        let host = ctx.synchronize(flight).unwrap();
        assert!(dev.to_vec().unwrap().is_empty());
        let shared = host.into_shared();
        dev.enqueue_copy_from(&shared).unwrap();
        drop((shared.clone(), shared));
        drop(dev.into_shared().unwrap().try_unshare().unwrap());
        drop(ctx.enqueue_create_buffer::<u8>(0).unwrap());
        drop(ctx.enqueue_create_buffer_zeroed::<u8>(0).unwrap());
        drop(ctx.create_host_buffer_from::<u8>(&[]).unwrap());
        drop(DeviceBuffer::<u8>::empty(&ctx));
    });
}

/// The free list gives a block of the same size without the system.
#[test]
fn a_dropped_block_is_used_again() {
    let ctx = context();
    for turn in 0..10 {
        // A size that no other test here uses.
        let (count, host) = allocations(|| ctx.create_host_buffer::<u8>(77_777).unwrap());
        assert!(turn == 0 || count == 0, "turn {turn}: {count} allocations");
        drop(host);
    }
}
