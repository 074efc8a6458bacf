//! What an operation costs on a GPU beside the raw driver call, `cust` and `cudarc`, interleaved in one process:
//! `cargo bench -p escrow --bench overhead --features cuda`.
//!
//! Each figure is the median over rounds; a round enqueues a batch of each variant in turn, on an idle stream, and times
//! the calls alone. The rows of 1 GiB time the work, with the wait for it. With a driver that does nothing
//! (`FAKE_CUDA_NULL=1` on the fake one) what is left is the bookkeeping.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use cudarc::driver as rc;
use cust::memory as cm;
use escrow::{Device, DeviceContext};

const SMALL: usize = 4 << 10;
const BATCH: usize = 64;

/// The driver, as C code would call it.
mod raw {
    use super::*;

    pub type Stream = *mut c_void;

    #[allow(non_snake_case)]
    unsafe extern "C" {
        pub fn cuStreamCreate(stream: *mut Stream, flags: c_uint) -> c_int;
        pub fn cuStreamSynchronize(stream: Stream) -> c_int;
        pub fn cuMemAllocAsync(ptr: *mut u64, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemFreeAsync(ptr: u64, stream: Stream) -> c_int;
        pub fn cuMemHostAlloc(ptr: *mut *mut c_void, bytes: usize, flags: c_uint) -> c_int;
        pub fn cuMemFreeHost(ptr: *mut c_void) -> c_int;
        pub fn cuMemcpyHtoDAsync_v2(dst: u64, src: *const c_void, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemcpyDtoHAsync_v2(dst: *mut c_void, src: u64, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemcpyDtoDAsync_v2(dst: u64, src: u64, bytes: usize, stream: Stream) -> c_int;
        pub fn cuMemsetD32Async(dst: u64, value: c_uint, count: usize, stream: Stream) -> c_int;
        pub fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> c_int;
        pub fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> c_int;
        pub fn cuLaunchKernel(
            function: *mut c_void,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            shared: c_uint,
            stream: Stream,
            params: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> c_int;
    }
}

const PTX: &str = concat!(include_str!("../../examples/kernels/blas.ptx"), "\0");

#[escrow::kernels(struct Blas, ptx = "../examples/kernels/blas.ptx")]
// SAFETY: thread `i` writes `y[i]`, for `i < n`.
unsafe extern "kernel" {
    /// `y += a * x`
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

fn ok(code: c_int) {
    assert_eq!(code, 0, "a driver call failed");
}

/// One way to do the operation of a row.
struct Variant<'a> {
    name: &'static str,
    call: Box<dyn FnMut() + 'a>,
    times: Vec<f64>,
}

fn variant<'a>(name: &'static str, call: impl FnMut() + 'a) -> Variant<'a> {
    Variant { name, call: Box::new(call), times: Vec::new() }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Times `batch` calls of each variant in turn; `wait` makes all streams idle.
fn row(title: &str, mut variants: Vec<Variant<'_>>, wait: &mut dyn FnMut(), batch: usize, rounds: usize, bytes: usize) {
    for round in 0..rounds + rounds / 10 {
        // Each in turn is first: what runs before a variant is part of what it finds.
        for at in 0..variants.len() {
            let count = variants.len();
            let variant = &mut variants[(round + at) % count];
            wait();
            let start = Instant::now();
            for _ in 0..batch {
                (variant.call)();
            }
            if bytes > 0 {
                wait();
            }
            let nanos = start.elapsed().as_nanos() as f64 / batch as f64;
            // The first rounds warm up.
            if round >= rounds / 10 {
                variant.times.push(nanos);
            }
        }
    }
    let base = median(&mut variants[0].times);
    print!("{title:<34}");
    for variant in &mut variants {
        let nanos = median(&mut variant.times);
        if bytes > 0 {
            print!("  {}: {:8.1} GB/s ({:.3})", variant.name, bytes as f64 / nanos, base / nanos);
        } else {
            print!("  {}: {nanos:8.1} ns ({:.3})", variant.name, nanos / base);
        }
    }
    println!();
}

#[allow(clippy::too_many_lines)] // one row after the other
fn main() {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    println!("{device}; medians, in brackets the ratio to raw (ns: lower is better; GB/s: higher is better)");
    let large = std::env::var("OVERHEAD_LARGE").map_or(1 << 30, |it| it.parse().expect("a number of bytes"));

    let _cust = cust::quick_init().expect("a context");
    let cust_stream = cust::stream::Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None).expect("a stream");
    let rc_ctx = rc::CudaContext::new(0).expect("a context");
    let rc_stream = rc_ctx.new_stream().expect("a stream");
    let mut stream = ptr::null_mut();
    // SAFETY: the address is valid; a context is current (`quick_init`).
    ok(unsafe { raw::cuStreamCreate(&raw mut stream, 1) });
    let ctx = DeviceContext::new(device).expect("a stream");

    let rounds = 300;
    for bytes in [SMALL, large] {
        let is_large = bytes > SMALL;
        let (batch, rounds, moved) = if is_large { (1, 7, bytes) } else { (BATCH, rounds, 0) };
        let size = if is_large { "1 GiB" } else { "4 KiB" };
        let (mut dev_a, mut dev_b, mut host) = (0, 0, ptr::null_mut());
        // SAFETY: the addresses are valid for the calls.
        unsafe {
            // From the pool, as the others: the driver takes longer to find such memory.
            ok(raw::cuMemAllocAsync(&raw mut dev_a, bytes, stream));
            ok(raw::cuMemAllocAsync(&raw mut dev_b, bytes, stream));
            ok(raw::cuMemHostAlloc(&raw mut host, bytes, 1));
        }
        let mut cust_dev = cm::DeviceBuffer::<u32>::zeroed(bytes / 4).expect("memory");
        // `cust` fills on the legacy stream, which no other one waits for.
        cust::context::CurrentContext::synchronize().expect("a wait");
        let mut cust_host = cm::LockedBuffer::<u32>::new(&0, bytes / 4).expect("memory");
        let mut rc_dev = rc_stream.alloc_zeros::<u32>(bytes / 4).expect("memory");
        // SAFETY: plain numbers, written before they are read.
        let mut rc_host = unsafe { rc_ctx.alloc_pinned::<u32>(bytes / 4) }.expect("memory");
        let mut dev = ctx.enqueue_create_buffer_zeroed::<u32>(bytes / 4).expect("memory");
        let mut other = ctx.enqueue_create_buffer_zeroed::<u32>(bytes / 4).expect("memory");
        let mut flight =
            Some(ctx.create_host_buffer::<u32>(bytes / 4).expect("memory").enqueue_fill(1).expect("a fill"));
        let mut wait = || {
            // SAFETY: the stream lives.
            ok(unsafe { raw::cuStreamSynchronize(stream) });
            cust_stream.synchronize().expect("a wait");
            rc_stream.synchronize().expect("a wait");
            ctx.synchronize(()).expect("a wait");
        };
        wait();

        row(
            &format!("host to device, pinned, {size}"),
            vec![
                // SAFETY: pinned and device memory of `bytes` bytes that lives to the end.
                variant("raw", || ok(unsafe { raw::cuMemcpyHtoDAsync_v2(dev_a, host, bytes, stream) })),
                variant("cust", || {
                    use cm::AsyncCopyDestination;
                    // SAFETY: both live to the end.
                    unsafe { cust_dev.async_copy_from(&cust_host, &cust_stream) }.expect("a copy");
                }),
                variant("cudarc", || rc_stream.memcpy_htod(&rc_host, &mut rc_dev).expect("a copy")),
                variant("escrow", || {
                    let host = flight.take().expect("it comes back");
                    flight = Some(dev.enqueue_copy_from(host).expect("a copy"));
                }),
            ],
            &mut wait,
            batch,
            rounds,
            moved,
        );
        row(
            &format!("device to host, pinned, {size}"),
            vec![
                // SAFETY: as above.
                variant("raw", || ok(unsafe { raw::cuMemcpyDtoHAsync_v2(host, dev_a, bytes, stream) })),
                variant("cust", || {
                    use cm::AsyncCopyDestination;
                    // SAFETY: as above.
                    unsafe { cust_dev.async_copy_to(&mut cust_host, &cust_stream) }.expect("a copy");
                }),
                variant("cudarc", || rc_stream.memcpy_dtoh(&rc_dev, &mut rc_host).expect("a copy")),
                variant("escrow", || {
                    let host = flight.take().expect("it comes back");
                    flight = Some(dev.enqueue_copy_to(host).expect("a copy"));
                }),
            ],
            &mut wait,
            batch,
            rounds,
            moved,
        );
        row(
            &format!("device to device, {size}"),
            vec![
                // SAFETY: as above.
                variant("raw", || ok(unsafe { raw::cuMemcpyDtoDAsync_v2(dev_b, dev_a, bytes, stream) })),
                variant("escrow", || other.enqueue_copy_from(&dev).expect("a copy")),
            ],
            &mut wait,
            batch,
            rounds,
            moved,
        );
        row(
            &format!("fill, 32 bit, {size}"),
            vec![
                // SAFETY: as above.
                variant("raw", || ok(unsafe { raw::cuMemsetD32Async(dev_b, 7, bytes / 4, stream) })),
                variant("escrow", || other.enqueue_fill(7).expect("a fill")),
            ],
            &mut wait,
            batch,
            rounds,
            moved,
        );
        if is_large {
            let mut wide = ctx.enqueue_create_buffer_zeroed::<u64>(bytes / 8).expect("memory");
            let mut wider = ctx.enqueue_create_buffer_zeroed::<u128>(bytes / 16).expect("memory");
            let pageable = vec![1u32; bytes / 4];
            row(
                "fill, wide, against 32 bit",
                vec![
                    // SAFETY: as above.
                    variant("raw 32", || ok(unsafe { raw::cuMemsetD32Async(dev_b, 7, bytes / 4, stream) })),
                    variant("escrow 64", || wide.enqueue_fill(0x0123_4567_89AB_CDEF).expect("a fill")),
                    variant("escrow 128", || wider.enqueue_fill(u128::MAX / 7).expect("a fill")),
                ],
                &mut wait,
                batch,
                rounds,
                moved,
            );
            row(
                "upload, pageable",
                vec![
                    variant("raw", || {
                        let src = pageable.as_ptr().cast();
                        // SAFETY: the vector lives to the end of the row, which waits.
                        ok(unsafe { raw::cuMemcpyHtoDAsync_v2(dev_a, src, bytes, stream) });
                    }),
                    variant("escrow", || dev.copy_from_slice(&pageable).expect("a copy")),
                ],
                &mut wait,
                batch,
                rounds,
                moved,
            );
        } else {
            let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: text and name end in zeros, and the addresses are valid for the calls.
            unsafe {
                ok(raw::cuModuleLoadData(&raw mut module, PTX.as_ptr().cast()));
                ok(raw::cuModuleGetFunction(&raw mut function, module, c"saxpy".as_ptr()));
            }
            let rc_module = rc_ctx.load_module(cudarc::nvrtc::Ptx::from_src(PTX.trim_end_matches('\0')));
            let rc_function = rc_module.expect("the module").load_function("saxpy").expect("the kernel");
            let cust_module = cust::module::Module::from_ptx(PTX.trim_end_matches('\0'), &[]).expect("the module");
            let cust_function = cust_module.get_function("saxpy").expect("the kernel");
            let blas = Blas::load(ctx.device()).expect("the kernels");
            let n = (bytes / 4) as u32;
            let blocks = n.div_ceil(256);
            let x = ctx.enqueue_create_buffer_zeroed::<f32>(bytes / 4).expect("memory");
            let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(bytes / 4).expect("memory");
            let rc_x = rc_stream.alloc_zeros::<f32>(bytes / 4).expect("memory");
            let mut rc_y = rc_stream.alloc_zeros::<f32>(bytes / 4).expect("memory");
            let cust_x = cm::DeviceBuffer::<f32>::zeroed(bytes / 4).expect("memory");
            let cust_y = cm::DeviceBuffer::<f32>::zeroed(bytes / 4).expect("memory");
            cust::context::CurrentContext::synchronize().expect("a wait");
            row(
                "kernel launch, 4 parameters",
                vec![
                    variant("raw", || {
                        let (mut n, mut a, mut x, mut y) = (n, 2.0f32, dev_a, dev_b);
                        let mut params: [*mut c_void; 4] =
                            [(&raw mut n).cast(), (&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast()];
                        // SAFETY: these are the kernel's parameters, and the memory has `n` elements.
                        ok(unsafe {
                            raw::cuLaunchKernel(
                                function,
                                blocks,
                                1,
                                1,
                                256,
                                1,
                                1,
                                0,
                                stream,
                                params.as_mut_ptr(),
                                ptr::null_mut(),
                            )
                        });
                    }),
                    variant("cust", || {
                        // SAFETY: as above.
                        unsafe {
                            cust::launch!(cust_function<<<blocks, 256, 0, cust_stream>>>(
                                n, 2.0f32, cust_x.as_device_ptr(), cust_y.as_device_ptr()
                            ))
                        }
                        .expect("a launch");
                    }),
                    variant("cudarc", || {
                        use cudarc::driver::PushKernelArg;
                        let config =
                            rc::LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
                        let mut launch = rc_stream.launch_builder(&rc_function);
                        launch.arg(&n).arg(&2.0f32).arg(&rc_x).arg(&mut rc_y);
                        // SAFETY: as above.
                        unsafe { launch.launch(config) }.expect("a launch");
                    }),
                    variant("escrow", || blas.saxpy(&ctx, 2.0, &x, &mut y).expect("a launch")),
                ],
                &mut wait,
                batch,
                rounds,
                moved,
            );
            row(
                "device allocate + drop, 4 KiB",
                vec![
                    variant("raw", || {
                        let mut at = 0;
                        // SAFETY: the address is valid; the memory is freed at once.
                        unsafe {
                            ok(raw::cuMemAllocAsync(&raw mut at, bytes, stream));
                            ok(raw::cuMemFreeAsync(black_box(at), stream));
                        }
                    }),
                    variant("cudarc", || {
                        // SAFETY: never read.
                        drop(black_box(unsafe { rc_stream.alloc::<u32>(bytes / 4) }.expect("memory")));
                    }),
                    variant("escrow", || drop(black_box(ctx.enqueue_create_buffer::<u32>(bytes / 4).expect("memory")))),
                ],
                &mut wait,
                batch,
                rounds,
                moved,
            );
            row(
                "host allocate + drop, 4 KiB",
                vec![
                    variant("raw", || {
                        let mut at = ptr::null_mut();
                        // SAFETY: the address is valid; the memory is freed at once.
                        unsafe {
                            ok(raw::cuMemHostAlloc(&raw mut at, bytes, 1));
                            ok(raw::cuMemFreeHost(black_box(at)));
                        }
                    }),
                    variant("escrow", || drop(black_box(ctx.create_host_buffer::<u32>(bytes / 4).expect("memory")))),
                ],
                &mut wait,
                batch,
                rounds,
                moved,
            );
        }
        wait();
        // SAFETY: nothing uses the memory any more (`wait`).
        unsafe {
            ok(raw::cuMemFreeAsync(dev_a, stream));
            ok(raw::cuMemFreeAsync(dev_b, stream));
            ok(raw::cuMemFreeHost(host));
        }
    }
}
