//! Buffers on several threads.

use std::sync::Mutex;
use std::thread;

use escrow::{
    Device, DeviceBuffer, DeviceContext, DevicePtr, DeviceSpan, DeviceSpanMut, Error, Fault, HostBuffer, HostPtr,
    HostSpan, HostSpanMut, InFlight, KernelSpan, KernelSpanMut, Launch, Recorded, Scope, SharedDeviceBuffer,
    SharedHostBuffer, TrustedPtr,
};

/// What can go to another thread, and be used from several.
const fn goes_anywhere<T: Send + Sync>() {}

const _: () = {
    goes_anywhere::<(Device, DeviceContext, Error, Launch)>();
    goes_anywhere::<(HostBuffer<f32>, InFlight<HostBuffer<f32>>, SharedHostBuffer<f32>)>();
    goes_anywhere::<(DeviceBuffer<f32>, SharedDeviceBuffer<f32>)>();
    goes_anywhere::<(DeviceSpan<'_, f32>, DeviceSpanMut<'_, f32>, HostSpan<'_, f32>, HostSpanMut<'_, f32>)>();
    goes_anywhere::<(HostPtr<f32>, DevicePtr<f32>, TrustedPtr<f32>)>();
    goes_anywhere::<(Recorded<InFlight<HostBuffer<f32>>>, Fault<InFlight<HostBuffer<f32>>>, Scope<'_, '_>)>();
    goes_anywhere::<(KernelSpan<'_, f32>, KernelSpanMut<'_, f32>)>();
};

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;

    // A buffer moves to a thread and back.
    let dev = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
    let thread = thread::spawn(move || {
        let mut dev = dev;
        dev.enqueue_fill(1.0).map(|()| dev)
    });
    let mut dev = thread.join().expect("the thread has not panicked")?;

    // Threads that end before the borrow does: parts that do not overlap.
    let (mut low, mut high) = dev.as_span_mut().split_at(4)?;
    thread::scope(|threads| {
        let a = threads.spawn(|| low.enqueue_fill(2.0));
        let b = threads.spawn(|| high.enqueue_fill(3.0));
        a.join().and_then(|_| b.join()).expect("the threads have not panicked")
    })?;
    assert_eq!(dev.to_vec()?, [2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]);

    // Or one after the other.
    let shared = Mutex::new(dev);
    thread::scope(|threads| {
        for value in [4.0, 5.0] {
            threads.spawn({
                let shared = &shared;
                move || shared.lock().expect("not poisoned").enqueue_fill(value)
            });
        }
    });
    assert!(shared.into_inner().expect("not poisoned").to_vec()?[0] >= 4.0);

    // Lent memory is used by the thread that lends it.
    let values = [1.0f32; 4];
    ctx.scope(|s| Ok(ctx.enqueue_create_buffer_from(s.lend(&values))?))?;
    Ok(())
}
