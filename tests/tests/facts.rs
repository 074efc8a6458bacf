//! Sizes, and what may go to or be seen by other threads.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::MutexGuard;

use escrow::shmem::{Add, Cmp, Max, Node, Set, Sum, World};
use escrow::{
    AnyStream, Atomics, Bool8, Device, DeviceBuffer, DeviceContext, DevicePtr, DeviceSpan, DeviceSpanMut, Dim, Dyn,
    Error, Exposed, ExposedSpan, F8E4M3, F8E5M2, Failure, Fault, HostBuffer, HostPtr, HostSpan, HostSpanMut, InFlight,
    KernelSpan, KernelSpanMut, Launch, Operation, Pe, PodElement, Recorded, RegisteredSpan, Requirement, Scope, Share,
    SharedDeviceBuffer, SharedHostBuffer, ShmemBuffer, ShmemContext, Signal, Team, TrustedPtr,
};
use static_assertions::{assert_impl_all, assert_not_impl_any, const_assert};

escrow::streams! { Named }

type Guard = MutexGuard<'static, f32>;

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(y))]
    safe fn unused(y: &mut [f32]);
}

/// The same facts for unnamed and for named streams.
macro_rules! both_threads {
    ($($t:ident [$($p:tt)*];)+) => { $(
        assert_impl_all!($t<$($p)*>: Send, Sync);
        assert_impl_all!($t<$($p)*, Named>: Send, Sync);
    )+ };
}

both_threads! {
    DeviceBuffer [f32];
    DeviceBuffer [MaybeUninit<f32>];
    HostBuffer [f32];
    SharedDeviceBuffer [f32];
    SharedHostBuffer [f32];
    DeviceSpan ['static, f32];
    DeviceSpan ['static, MaybeUninit<f32>];
    DeviceSpanMut ['static, f32];
    DeviceSpanMut ['static, MaybeUninit<f32>];
    HostSpan ['static, f32];
    HostSpanMut ['static, f32];
    Scope ['static, 'static];
}

assert_impl_all!(DeviceContext: Send, Sync, Clone);
assert_impl_all!(DeviceContext<Named>: Send, Sync, Clone);
assert_impl_all!(Device: Send, Sync, Clone, Eq);
assert_impl_all!(InFlight<HostBuffer<f32>>: Send, Sync);
assert_impl_all!(InFlight<HostBuffer<f32, Named>>: Send, Sync);
assert_impl_all!(Recorded<InFlight<HostBuffer<f32>>>: Send, Sync);
assert_impl_all!(Recorded<Vec<InFlight<HostBuffer<f32, Named>>>, Named>: Send, Sync);
assert_impl_all!(Recorded<()>: Send, Sync);
assert_impl_all!(DevicePtr<f32>: Send, Sync, Copy);
assert_impl_all!(HostPtr<f32>: Send, Sync, Copy);
assert_impl_all!(TrustedPtr<f32>: Send, Sync, Copy);
assert_impl_all!(Error: Send, Sync, Clone, std::error::Error);
assert_impl_all!(Failure: Send, Sync);
assert_impl_all!(Requirement: Send, Sync);
assert_impl_all!(Operation: Send, Sync, Copy);
assert_impl_all!(AnyStream: Send, Sync);
assert_impl_all!(Dyn: Send, Sync, Copy);
assert_impl_all!(Bool8: Send, Sync, Copy);
assert_impl_all!(F8E4M3: Send, Sync, Copy);
assert_impl_all!(F8E5M2: Send, Sync, Copy);
assert_impl_all!(PodElement<[u8; 3]>: Send, Sync, Copy);

// Kernels: spans go where their elements go, a share stays on its thread.
assert_impl_all!(KernelSpan<'static, f32>: Send, Sync, Copy);
assert_impl_all!(KernelSpanMut<'static, f32>: Send, Sync);
assert_not_impl_any!(KernelSpan<'static, Cell<f32>>: Send, Sync);
assert_not_impl_any!(KernelSpanMut<'static, Rc<f32>>: Send, Sync);
assert_not_impl_any!(KernelSpanMut<'static, f32>: std::ops::Deref, std::ops::DerefMut);
assert_not_impl_any!(Share<'static>: Send, Sync, Clone);
assert_impl_all!(Launch: Send, Sync);
assert_impl_all!(Dim: Send, Sync, Copy);
assert_impl_all!(Kernels: Send, Sync);

// Memory goes where its elements may go, and is seen by those who may see them. `Cell` is sent and not shared, a guard is
// shared and not sent.
assert_not_impl_any!(DeviceBuffer<Guard>: Send);
assert_not_impl_any!(DeviceBuffer<Cell<f32>>: Sync);
assert_not_impl_any!(HostBuffer<Guard>: Send);
assert_not_impl_any!(HostBuffer<Cell<f32>>: Sync);
assert_not_impl_any!(SharedDeviceBuffer<Cell<f32>>: Sync);
assert_not_impl_any!(SharedHostBuffer<Cell<f32>>: Sync);
assert_not_impl_any!(DeviceSpan<'static, Cell<f32>>: Send, Sync);
assert_not_impl_any!(DeviceSpanMut<'static, Guard>: Send);
assert_not_impl_any!(DeviceSpanMut<'static, Cell<f32>>: Sync);
assert_not_impl_any!(HostSpanMut<'static, Guard>: Send);
assert_not_impl_any!(RegisteredSpan<'static, Guard>: Send);
assert_not_impl_any!(KernelSpan<'static, Cell<f32>>: Sync);

// `Fault` is as its value is.
assert_impl_all!(Fault<DeviceBuffer<f32>>: Send, Sync, std::error::Error);
assert_not_impl_any!(Fault<Rc<()>>: Send, Sync);

// Whoever owns memory that changes owns it alone.
assert_not_impl_any!(DeviceBuffer<f32>: Clone);
assert_not_impl_any!(HostBuffer<f32>: Clone);
assert_not_impl_any!(InFlight<HostBuffer<f32>>: Clone, std::ops::Deref, AsRef<[f32]>, std::borrow::Borrow<[f32]>);
assert_not_impl_any!(Recorded<InFlight<HostBuffer<f32>>>: Clone);
assert_not_impl_any!(DeviceSpanMut<'static, f32>: Clone);
assert_not_impl_any!(HostSpanMut<'static, f32>: Clone);
assert_not_impl_any!(SharedHostBuffer<f32>: std::ops::DerefMut);
assert_not_impl_any!(SharedDeviceBuffer<f32>: Clone);
assert_not_impl_any!(Fault<InFlight<HostBuffer<f32>>>: std::ops::Deref);

// What is of a job stays on the thread of its PE, and is nobody else's.
macro_rules! stays {
    ($($t:ty;)+) => { $( assert_not_impl_any!($t: Send, Sync); )+ };
}

stays! {
    ShmemContext;
    ShmemContext<Named>;
    &'static ShmemContext;
    ShmemBuffer<'static, f32>;
    ShmemBuffer<'static, MaybeUninit<f32>>;
    ShmemBuffer<'static, f32, Named>;
    Exposed<ShmemBuffer<'static, f32>>;
    Exposed<ShmemBuffer<'static, f32, Named>>;
    ExposedSpan<'static, f32>;
    Signal<'static, Set>;
    Signal<'static, Add, Named>;
    Team<'static, World>;
    Team<'static, Node, Named>;
    Pe<'static>;
    Pe<'static, Node>;
    Atomics<'static>;
}

assert_impl_all!(Cmp: Send, Sync, Copy);
assert_impl_all!((Set, Add, Sum, Max, World, Node): Send, Sync, Copy);
assert_impl_all!(Pe<'static>: Copy, Eq);
assert_impl_all!(ExposedSpan<'static, f32>: Copy);
assert_not_impl_any!(ShmemContext: Clone);
assert_not_impl_any!(ShmemBuffer<'static, f32>: Clone, std::ops::Deref, AsRef<[f32]>);
assert_not_impl_any!(Exposed<ShmemBuffer<'static, f32>>: Clone, std::ops::Deref, std::ops::DerefMut);
assert_not_impl_any!(Signal<'static, Set>: Clone);
assert_not_impl_any!(Team<'static, World>: Clone);

// What a loop over buffers moves is a few words.
const_assert!(size_of::<ShmemBuffer<'static, f32>>() <= 40);
const_assert!(size_of::<Exposed<ShmemBuffer<'static, [u64; 20], Named>>>() <= 40);
const_assert!(size_of::<Option<ShmemBuffer<'static, f32>>>() <= 40);
const_assert!(size_of::<Pe<'static>>() <= 16);
const_assert!(size_of::<Signal<'static, Set>>() <= 16);
const_assert!(size_of::<DeviceBuffer<f32>>() <= 40);
const_assert!(size_of::<HostBuffer<f32>>() <= 40);
const_assert!(size_of::<InFlight<HostBuffer<f32>>>() <= 40);
const_assert!(size_of::<SharedDeviceBuffer<f32>>() <= 40);
const_assert!(size_of::<SharedHostBuffer<f32>>() <= 40);
const_assert!(size_of::<DeviceBuffer<[u64; 20], Named>>() <= 40);
const_assert!(size_of::<DeviceContext>() == size_of::<usize>());
const_assert!(size_of::<Option<DeviceBuffer<f32>>>() <= 40);
const_assert!(size_of::<Error>() <= 32);
const_assert!(size_of::<Result<(), Error>>() <= 32);

#[test]
fn sizes() {
    // The assertions above are the test; this prints what they were, for whoever changes a layout.
    for (name, size) in [
        ("DeviceBuffer", size_of::<DeviceBuffer<f32>>()),
        ("HostBuffer", size_of::<HostBuffer<f32>>()),
        ("InFlight", size_of::<InFlight<HostBuffer<f32>>>()),
        ("Recorded", size_of::<Recorded<InFlight<HostBuffer<f32>>>>()),
        ("Error", size_of::<Error>()),
    ] {
        println!("{name}: {size}");
        assert!(size > 0);
    }
}
