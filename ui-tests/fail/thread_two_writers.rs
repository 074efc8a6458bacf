// Rule: two threads do not write one buffer.
// Instead: give each thread a buffer or a part of a split span, or a `Mutex`.
//~ E0499
//~ right: pass/threads.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    std::thread::scope(|threads| {
        threads.spawn(|| dev.enqueue_fill(1.0));
        threads.spawn(|| dev.enqueue_fill(2.0));
    });
    Ok(())
}

fn main() {}
