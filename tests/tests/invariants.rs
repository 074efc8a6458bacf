//! One or more tests for each invariant of the memory model (`docs/soundness.md`), each with the edit that makes it
//! fail: "Broken on purpose". Streams are held where they stand by kernel bodies that block, so nothing here depends on
//! timing.

#[path = "invariants/drops.rs"]
mod drops;
#[path = "invariants/failure.rs"]
mod failure;
#[path = "invariants/host.rs"]
mod host;
#[path = "invariants/process.rs"]
mod process;
#[path = "invariants/scopes.rs"]
mod scopes;
#[path = "invariants/streams.rs"]
mod streams;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use escrow::{Device, DeviceContext, HostBuffer, StreamTag};
use escrow_tests::Held;

/// Elements of the buffers here: few enough to be quick, and of a size class of their own.
const LEN: usize = 1500;

fn cpu() -> DeviceContext {
    DeviceContext::new(Device::cpu()).unwrap()
}

/// Takes what lies on the free lists and writes over it: memory that was given back too early shows it.
fn overwrite_what_is_free<S: StreamTag>(ctx: &DeviceContext<S>) {
    let other = ctx.fork().unwrap();
    let hosts: Vec<HostBuffer<u32>> = (0..16)
        .map(|_| {
            let mut host = other.create_host_buffer::<u32>(LEN).unwrap();
            host.fill(0xDEAD);
            host
        })
        .collect();
    let devices: Vec<_> =
        (0..16).map(|_| other.enqueue_create_buffer::<u32>(LEN).unwrap().enqueue_fill(0xDEAD).unwrap()).collect();
    other.synchronize(()).unwrap();
    drop((hosts, devices));
}

/// Runs `blocks`, which cannot return before `held` is released; another thread releases it meanwhile.
fn released_meanwhile<R>(held: Held, blocks: impl FnOnce() -> R) -> R {
    let (about, released) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            while !about.load(Ordering::Acquire) {
                thread::yield_now();
            }
            // Time for `blocks` to return too early, if it does.
            for _ in 0..2000 {
                thread::yield_now();
            }
            released.store(true, Ordering::SeqCst);
            held.release();
        });
        about.store(true, Ordering::Release);
        let result = blocks();
        assert!(released.load(Ordering::SeqCst), "returned while the stream stood still");
        result
    })
}
