//! Operations on other PEs' memory on GPUs, beside the raw calls of NVSHMEM, interleaved in one process.
//!
//! `ESCROW_NVSHMEM=.../libnvshmem_host.so.3 cargo bench -p escrow --features cuda --bench nvshmem`, on two PEs, which share
//! a GPU where there is one. Prints medians in ns of one operation of many that are waited for once; PE 0 measures.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::time::Instant;

use escrow::{Error, ShmemContext, shmem};

type Put = unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, *mut c_void);
type OnStream = unsafe extern "C" fn(*mut c_void);

const ROUNDS: usize = 31;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Medians of both, which take turns; each call of a function makes `count` operations and waits for them.
fn compare(name: &str, count: usize, me: usize, mut raw: impl FnMut(), mut ours: impl FnMut()) {
    let (mut raws, mut all) = (Vec::new(), Vec::new());
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_nanos() as f64 / count as f64
    };
    for _ in 0..ROUNDS {
        raws.push(time(&mut raw));
        all.push(time(&mut ours));
    }
    let (raw, ours) = (median(raws), median(all));
    if me == 0 {
        println!("{name:<32} raw: {raw:>10.1} ns (1.000)  escrow: {ours:>10.1} ns ({:.3})", ours / raw);
    }
}

fn run(job: &ShmemContext) -> Result<(), Error> {
    let path = std::env::var_os("ESCROW_NVSHMEM").unwrap_or_else(|| "libnvshmem_host.so.3".into());
    // SAFETY: the job has loaded the same library.
    let library = unsafe { libloading::Library::new(path) }.expect("the job's library");
    // SAFETY: the functions have these types in NVSHMEM 3.
    let (put, get, quiet, barrier) = unsafe {
        let put: Put = *library.get(b"nvshmemx_putmem_on_stream\0").expect("put");
        let get: Put = *library.get(b"nvshmemx_getmem_on_stream\0").expect("get");
        let quiet: OnStream = *library.get(b"nvshmemx_quiet_on_stream\0").expect("quiet");
        let barrier: OnStream = *library.get(b"nvshmemx_barrier_all_on_stream\0").expect("barrier");
        (put, get, quiet, barrier)
    };
    let ctx = job.context();
    let stream: *mut c_void = ctx.cuda_stream().expect("a GPU's").cast();
    let wait = || ctx.synchronize(()).expect("a wait");
    let (me, pe) = (job.my_pe(), job.next().rank() as c_int);
    for (bytes, count) in [(4 << 10, 200), (1 << 20, 100), (64 << 20, 4)] {
        let mut src = ctx.enqueue_create_buffer_zeroed::<u8>(bytes)?;
        let dst = job.create_buffer_zeroed::<u8>(bytes)?;
        let (from, to) = (src.unsafe_ptr().as_ptr().cast(), dst.unsafe_ptr().as_ptr().cast());
        let dst = job.barrier_all(dst)?;
        if me == 0 {
            let raw = || {
                // SAFETY: both have `bytes` bytes, and the wait is below.
                (0..count).for_each(|_| unsafe { put(to, from, bytes, pe, stream) });
                wait();
            };
            let ours = || {
                (0..count).for_each(|_| job.put(&src, &dst, black_box(job.next())).expect("a put"));
                wait();
            };
            compare(&format!("put, {} KiB", bytes >> 10), count, me, raw, ours);
            let raw = || {
                // SAFETY: as above.
                (0..count).for_each(|_| unsafe { get(from, to, bytes, pe, stream) });
                wait();
            };
            let ours = || {
                (0..count).for_each(|_| job.get(&dst, &mut src, black_box(job.next())).expect("a get"));
                wait();
            };
            compare(&format!("get, {} KiB", bytes >> 10), count, me, raw, ours);
        }
        job.barrier_all(dst)?;
    }
    if me == 0 {
        let raw = || {
            // SAFETY: the stream is the job's.
            (0..200).for_each(|_| unsafe { quiet(stream) });
            wait();
        };
        let ours = || {
            (0..200).for_each(|_| job.quiet().expect("a quiet"));
            wait();
        };
        compare("quiet", 200, me, raw, ours);
    }
    // Both PEs take part, with equal calls.
    let raw = || {
        // SAFETY: as above; the other PE makes as many.
        (0..100).for_each(|_| unsafe { barrier(stream) });
        wait();
    };
    let ours = || {
        (0..100).for_each(|_| job.barrier_all(()).expect("a barrier"));
        wait();
    };
    compare("barrier", 100, me, raw, ours);
    Ok(())
}

fn main() {
    let gpus = escrow::Device::all().len() - 1;
    if gpus == 0 || std::env::var_os("ESCROW_NVSHMEM").is_none() {
        println!("skipped: it needs a GPU, and `ESCROW_NVSHMEM` to name NVSHMEM's host library");
        return;
    }
    let device = escrow::Device::cuda(0).expect("a GPU");
    shmem::launch_on(escrow::Dyn, device, 2, run).expect("the job");
}
