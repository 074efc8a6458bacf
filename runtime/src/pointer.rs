//! Raw pointers that left their buffers.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::block::{Block, BlockRef};
use crate::context::DeviceContext;
use crate::error::{Error, Operation};
use crate::region::{Region, byte_len};
use crate::tag::StreamTag;

macro_rules! pointer {
    ($(#[$doc:meta])* $name:ident) => {
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
                if !Arc::ptr_eq(block.device(), &ctx.device().0) {
                    let _ = block.into_raw();
                    return Err(Error::WrongDevice { op: Operation::Pointer });
                }
                let ptr = NonNull::new(self.ptr).unwrap_or(NonNull::dangling());
                // SAFETY: a taken pointer is its whole block, of `len` elements (compared above); order by contract.
                Ok(unsafe { Region::from_parts(ptr, len, Some(block), ctx.clone()) })
            }

            /// The address.
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
    #[must_use = "a pointer from `take_ptr` is the only way to the memory: without `from_ptr` it leaks"]
    HostPtr
}

pointer! {
    /// The address of device memory, from [`DeviceBuffer::take_ptr`](crate::DeviceBuffer::take_ptr) (then it owns the
    /// memory) or [`unsafe_ptr`](crate::DeviceBuffer::unsafe_ptr) (then it does not). A kernel takes it only after
    /// [`trust`](DevicePtr::trust).
    #[must_use = "a pointer from `take_ptr` is the only way to the memory: without `from_ptr` it leaks"]
    DevicePtr
}

impl<T> DevicePtr<T> {
    /// Vouches for the pointer, so that kernels take it.
    ///
    /// # Safety
    /// As long as any kernel may use the result: the memory stays allocated, every access that a kernel makes through it
    /// lies inside of it, and is ordered on the launching stream with all other uses.
    pub unsafe fn trust(self) -> TrustedPtr<T> {
        TrustedPtr(self.ptr)
    }
}

/// A device pointer that somebody vouched for: the only pointer that a kernel call takes.
pub struct TrustedPtr<T>(*mut T);

impl<T> TrustedPtr<T> {
    /// The address.
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
