//! Raw pointers that left their buffers.

use std::fmt;
use std::ptr::NonNull;

use crate::block::{Block, BlockRef};
use crate::context::DeviceContext;
use crate::error::{Error, Operation};
use crate::region::{Region, byte_len};
use crate::tag::StreamTag;

macro_rules! pointer {
    ($(#[$doc:meta])* $name:ident, $any_device:literal) => {
        $(#[$doc])*
        pub struct $name<T> {
            ptr: *mut T,
            /// The count that `take_ptr` gave up; `None` for a pointer of `unsafe_ptr`.
            block: Option<NonNull<Block>>,
        }

        impl<T> $name<T> {
            pub(crate) fn owning(ptr: NonNull<T>, block: Option<BlockRef>) -> Self {
                $name { ptr: ptr.as_ptr(), block: block.map(BlockRef::into_raw) }
            }

            pub(crate) fn borrowed(ptr: *mut T) -> Self {
                $name { ptr, block: None }
            }

            /// # Safety
            /// Of all copies of an owning pointer only this one is taken back, nothing else uses the memory, and all
            /// work on it is ordered before `ctx`.
            pub(crate) unsafe fn into_region<S: StreamTag>(
                self,
                ctx: &DeviceContext<S>,
                len: usize,
            ) -> Result<Region<T, S>, Error> {
                let bytes = byte_len::<T>(len)?;
                let Some(block) = self.block else {
                    return if len == 0 { Ok(Region::empty(ctx.clone())) } else { Err(Error::NotTaken) };
                };
                // SAFETY: `block` came from `into_raw` in `owning`; taken back once, by this function's contract. If the
                // length is wrong the count is given up again below.
                let block = unsafe { BlockRef::from_raw(block) };
                if block.used() != bytes {
                    let held = block.used() / size_of::<T>();
                    let _ = block.into_raw();
                    return Err(Error::Length { op: Operation::Pointer, dst: len, src: held });
                }
                // Host memory is that of all devices of its kind.
                let fits = if $any_device {
                    block.device().shares_host_memory_with(ctx.device())
                } else {
                    block.device() == ctx.device()
                };
                if !fits {
                    let _ = block.into_raw();
                    return Err(Error::WrongDevice { op: Operation::Pointer });
                }
                let ptr = NonNull::new(self.ptr).unwrap_or(NonNull::dangling());
                // SAFETY: a taken pointer is its whole block, of `len` elements (compared above); order by contract.
                Ok(unsafe { Region::from_parts(ptr, len, Some(block), ctx.clone()) })
            }

            /// The address.
            ///
            /// ```
            /// # use escrow::{Device, DeviceContext};
            /// # fn main() -> Result<(), escrow::Error> {
            /// # let ctx = DeviceContext::new(Device::cpu())?;
            /// let host = ctx.create_host_buffer::<u8>(2)?;
            /// let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
            /// assert_eq!(host.unsafe_ptr().as_ptr().cast_const(), host.as_ptr());
            /// assert!(!dev.unsafe_ptr().as_ptr().is_null()); // the host does not read through this one
            /// # Ok(()) }
            /// ```
            pub fn as_ptr(self) -> *mut T {
                self.ptr
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:p})"), self.ptr)
            }
        }

        // SAFETY: an address and the address of a `Block`, which is `Send`; using either takes `unsafe`.
        unsafe impl<T> Send for $name<T> {}
        // SAFETY: as above.
        unsafe impl<T> Sync for $name<T> {}
    };
}

pointer! {
    /// The address of pinned host memory, from [`HostBuffer::take_ptr`](crate::HostBuffer::take_ptr) (then it owns the
    /// memory) or [`unsafe_ptr`](crate::HostBuffer::unsafe_ptr) (then it does not). Using it takes `unsafe`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, HostBuffer, HostPtr};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let ptr: HostPtr<u8> = ctx.create_host_buffer_from(&[1u8, 2])?.take_ptr()?;
    /// // SAFETY: the only copy of an owning pointer; nothing is pending on the memory.
    /// let host = unsafe { HostBuffer::from_ptr(&ctx, ptr, 2) }?;
    /// assert_eq!(host[..], [1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// The buffer is gone once its pointer was taken, and taking it back is a promise:
    ///
    /// ```compile_fail,E0382
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer::<u8>(2)?;
    /// let ptr = host.take_ptr()?;
    /// println!("{}", host[0]); // the pointer owns the memory now
    /// # let _ = ptr;
    /// # Ok(()) }
    /// ```
    ///
    /// ```compile_fail,E0133
    /// # use escrow::{Device, DeviceContext, HostBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let ptr = ctx.create_host_buffer::<u8>(2)?.take_ptr()?;
    /// let host = HostBuffer::from_ptr(&ctx, ptr, 2)?; // `unsafe`: you promise that no other copy is taken back
    /// # Ok(()) }
    /// ```
    #[must_use = "a pointer from `take_ptr` is the only way to the memory: without `from_ptr` it leaks"]
    HostPtr, true
}

pointer! {
    /// The address of device memory, from [`DeviceBuffer::take_ptr`](crate::DeviceBuffer::take_ptr) (then it owns the
    /// memory) or [`unsafe_ptr`](crate::DeviceBuffer::unsafe_ptr) (then it does not). A kernel takes it only after
    /// [`trust`](DevicePtr::trust).
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, DeviceBuffer, DevicePtr};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let ptr: DevicePtr<u8> = ctx.enqueue_create_buffer_zeroed::<u8>(2)?.take_ptr();
    /// // SAFETY: the only copy of an owning pointer, back on the same stream.
    /// let dev = unsafe { DeviceBuffer::from_ptr(&ctx, ptr, 2) }?;
    /// assert_eq!(dev.to_vec()?, [0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// A kernel does not take it as it is:
    ///
    /// ```compile_fail,E0308
    /// # use escrow::{Device, DeviceContext, DevicePtr, Error, TrustedPtr};
    /// #[escrow::kernels(struct Set)]
    /// unsafe extern "kernel" {
    ///     unsafe fn scale(data: TrustedPtr<f32>, n: u32);
    /// }
    /// fn user(set: &Set, ctx: &DeviceContext, data: DevicePtr<f32>) -> Result<(), Error> {
    ///     // SAFETY: one block of 8 threads, as `scale` wants.
    ///     unsafe { set.scale(ctx, (1, 8), data, 8) } // `data.trust()`
    /// }
    /// ```
    #[must_use = "a pointer from `take_ptr` is the only way to the memory: without `from_ptr` it leaks"]
    DevicePtr, false
}

impl<T> DevicePtr<T> {
    /// Vouches for the pointer, so that kernels take it.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Share, TrustedPtr};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(set_one)] unsafe fn set_one(data: TrustedPtr<f32>, n: u32); }
    /// # unsafe fn set_one(_: &mut Share<'_>, data: TrustedPtr<f32>, n: u32) {
    /// #     // SAFETY: the contract of the kernel.
    /// #     unsafe { data.as_ptr().add(n as usize - 1).write(1.0) };
    /// # }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
    /// let set = Set::load(ctx.device())?;
    /// // SAFETY: `dev` lives until the wait below, `set_one` writes its elements only, on the stream that owns it.
    /// let ptr = unsafe { dev.unsafe_ptr().trust() };
    /// // SAFETY: `ptr` has `n` elements.
    /// unsafe { set.set_one(&ctx, (1, 1), ptr, 4) }?;
    /// assert_eq!(dev.to_vec()?, [0.0, 0.0, 0.0, 1.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// As long as any kernel may use the result: the memory stays allocated, every access that a kernel makes through it
    /// lies inside of it, and is ordered on the launching stream with all other uses.
    pub unsafe fn trust(self) -> TrustedPtr<T> {
        TrustedPtr(self.ptr)
    }
}

/// A device pointer that somebody vouched for: the only pointer that a kernel call takes.
///
/// ```
/// # use escrow::{Device, DeviceContext, TrustedPtr};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// // SAFETY: no kernel gets the pointer.
/// let ptr: TrustedPtr<f32> = unsafe { dev.unsafe_ptr().trust() };
/// assert_eq!(ptr.as_ptr(), dev.unsafe_ptr().as_ptr());
/// # Ok(()) }
/// ```
///
/// Only a promise makes one:
///
/// ```compile_fail,E0133
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// let ptr = dev.unsafe_ptr().trust(); // a promise, so `unsafe`
/// # Ok(()) }
/// ```
pub struct TrustedPtr<T>(*mut T);

impl<T> TrustedPtr<T> {
    /// The address.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Share, TrustedPtr};
    /// // What a Rust kernel body does with one.
    /// unsafe fn last(_: &mut Share<'_>, data: TrustedPtr<f32>, n: u32) {
    ///     // SAFETY: the contract of the kernel: `data` has `n` elements, which nobody else uses.
    ///     unsafe { data.as_ptr().add(n as usize - 1).write(1.0) };
    /// }
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(last)] unsafe fn last(data: TrustedPtr<f32>, n: u32); }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let dev = ctx.enqueue_create_buffer_zeroed::<f32>(2)?;
    /// # // SAFETY: `dev` has two elements and lives until the wait.
    /// # unsafe { Set::load(ctx.device())?.last(&ctx, (1, 1), dev.unsafe_ptr().trust(), 2) }?;
    /// assert_eq!(dev.to_vec()?, [0.0, 1.0]);
    /// # Ok(()) }
    /// ```
    pub fn as_ptr(self) -> *mut T {
        self.0
    }
}

impl<T> Clone for TrustedPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TrustedPtr<T> {}

impl<T> fmt::Debug for TrustedPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrustedPtr({:p})", self.0)
    }
}

// SAFETY: an address; whoever made it vouched for every use, on whatever thread.
unsafe impl<T> Send for TrustedPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for TrustedPtr<T> {}
