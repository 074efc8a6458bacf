//! Streams and memory that come from other CUDA code, and ours for it.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use cust::memory::{DeviceBuffer as CustBuffer, DeviceCopy, DevicePointer};

use super::check;
use super::core::Core;
use super::device::CudaDevice;
use super::memory::{self, Allocation, address};
use super::raw::{self, CUcontext, CUdeviceptr, CUstream};
use crate::block::{Block, BlockRef, Place, Storage};
use crate::context::DeviceContext;
use crate::device::{Device, Kind};
use crate::device_buffer::DeviceBuffer;
use crate::dtype::DType;
use crate::error::{Error, Fault, Operation};
use crate::pointer::DevicePtr;
use crate::region::{Region, byte_len, view_len};
use crate::stream::{Stream, not_on_worker};
use crate::tag::StreamTag;

impl<S: StreamTag> DeviceContext<S> {
    /// The driver's handle of this stream, for other CUDA code; `None` on the CPU device. It is this context's as long as
    /// there are handles of its stream: clones, buffers, values in flight. After them it is another context's.
    ///
    /// Other code may enqueue on it, which comes in order with what is enqueued here. It must neither destroy the stream
    /// nor capture it into a graph.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// assert_eq!(DeviceContext::new(Device::cpu())?.cuda_stream(), None);
    /// if let Ok(gpu) = Device::cuda(0) {
    ///     let ctx = DeviceContext::new(gpu)?;
    ///     assert_eq!(ctx.cuda_stream(), ctx.clone().cuda_stream()); // a clone is the same stream
    ///     assert_ne!(ctx.cuda_stream(), ctx.fork()?.cuda_stream());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn cuda_stream(&self) -> Option<CUstream> {
        self.stream().cuda().map(Core::raw)
    }

    /// A context of a stream that other CUDA code made. It stays theirs: it is never destroyed, nor used for anything
    /// behind the last handle of the context. Host memory that is dropped in flight waits for an event recorded then.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Dyn};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let Ok(gpu) = Device::cuda(0) else { return Ok(()) };
    /// # let theirs = DeviceContext::new(gpu.clone())?;
    /// # let stream = theirs.cuda_stream().expect("a GPU's");
    /// // SAFETY: the stream is not destroyed before `ctx` and all that was made with it are gone, and is never captured.
    /// let ctx = unsafe { DeviceContext::from_cuda_stream(Dyn, gpu, stream) }?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?; // in order with what others enqueue there
    /// assert_eq!(dev.to_vec()?, [0.0; 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] for the NULL stream, the legacy and the per-thread handle, for a stream that was not created
    /// non-blocking, and for one that is being captured. [`Error::WrongDevice`] if the device is no GPU, or the stream not
    /// one of its primary context; [`Error::Driver`].
    ///
    /// # Safety
    /// `stream` is null, `CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD` or a live stream. It stays alive, and is not captured
    /// into a graph, until all handles of the context are gone: clones, buffers, values in flight, `Recorded`s. One that
    /// was forgotten never goes.
    pub unsafe fn from_cuda_stream(tag: S, device: Device, stream: CUstream) -> Result<Self, Error> {
        const OP: Operation = Operation::Create;
        let _ = tag;
        not_on_worker(OP)?;
        let Kind::Cuda(cuda) = *device.kind() else { return Err(Error::WrongDevice { op: OP }) };
        let refuse = |why| Err(Error::Refused { op: OP, why });
        match stream.addr() {
            0 => return refuse("the NULL stream belongs to everybody; make a non-blocking one"),
            raw::STREAM_LEGACY => return refuse("the legacy stream belongs to everybody; make a non-blocking one"),
            raw::STREAM_PER_THREAD => {
                return refuse("the per-thread handle is another stream on each thread; make a non-blocking one");
            }
            _ => {}
        }
        let (mut context, mut flags, mut capturing): (CUcontext, _, _) = (ptr::null_mut(), 0, 0);
        // First: while a stream is being captured, the driver refuses to tell the rest.
        // SAFETY: the stream lives (this function's contract), and the addresses are valid for the calls.
        check(OP, cuda.within(|| unsafe { raw::cuStreamIsCapturing(stream, &raw mut capturing) }))?;
        if capturing != 0 {
            return refuse("the stream is being captured: what is enqueued would not run now");
        }
        // SAFETY: as above.
        check(OP, cuda.within(|| unsafe { raw::cuStreamGetCtx(stream, &raw mut context) }))?;
        // SAFETY: as above.
        check(OP, cuda.within(|| unsafe { raw::cuStreamGetFlags(stream, &raw mut flags) }))?;
        if context != cuda.context() {
            return Err(Error::WrongDevice { op: OP });
        }
        if flags & raw::STREAM_NON_BLOCKING == 0 {
            return refuse("the stream waits for the legacy stream implicitly; create it with CU_STREAM_NON_BLOCKING");
        }
        // SAFETY: the stream is of the device's context (compared above), and lives by this function's contract.
        let core = unsafe { Core::borrow(cuda, stream) }?;
        Ok(DeviceContext::of_stream(Stream::of_cuda(device, core)))
    }
}

impl<T> DevicePtr<T> {
    /// The address as the driver's number, for other CUDA code. For memory of a CPU device it is a host address.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
    /// let raw: escrow::cust::sys::CUdeviceptr = dev.unsafe_ptr().cuda_ptr();
    /// assert_eq!(raw, dev.unsafe_ptr().as_ptr().addr() as u64);
    /// # Ok(()) }
    /// ```
    pub fn cuda_ptr(self) -> CUdeviceptr {
        address(self.as_ptr().cast_const().cast())
    }
}

/// What other CUDA code hands over.
struct Incoming {
    device: Device,
    cuda: &'static CudaDevice,
    base: NonNull<u8>,
    bytes: usize,
}

impl Incoming {
    /// Looks at `len` elements at `ptr`; `None` for no elements.
    fn look<T, S: StreamTag>(ctx: &DeviceContext<S>, ptr: CUdeviceptr, len: usize) -> Result<Option<Incoming>, Error> {
        const OP: Operation = Operation::Pointer;
        not_on_worker(OP)?;
        let device = ctx.device().clone();
        let Kind::Cuda(cuda) = *device.kind() else { return Err(Error::WrongDevice { op: OP }) };
        let bytes = byte_len::<T>(len)?;
        if bytes == 0 {
            return Ok(None);
        }
        let base = ptr::with_exposed_provenance_mut::<u8>(ptr as usize);
        let base = NonNull::new(base).ok_or(Error::Refused { op: OP, why: "the address is null" })?;
        view_len::<T>(base.as_ptr(), bytes)?;
        let mut ordinal: std::ffi::c_int = -1;
        let value = (&raw mut ordinal).cast();
        // SAFETY: the address is valid for the call; the attribute is an `int`.
        let code = cuda.within(|| unsafe { raw::cuPointerGetAttribute(value, raw::POINTER_DEVICE_ORDINAL, ptr) });
        check(OP, code)?;
        if usize::try_from(ordinal) != Ok(cuda.ordinal()) {
            return Err(Error::WrongDevice { op: OP });
        }
        Ok(Some(Incoming { device, cuda, base, bytes }))
    }

    /// The buffer.
    ///
    /// # Safety
    /// The memory is `len` written elements for `ctx`'s stream to use from now on, and goes back as `allocation` says.
    unsafe fn adopt<T, S: StreamTag>(
        self,
        ctx: &DeviceContext<S>,
        len: usize,
        allocation: Allocation,
    ) -> DeviceBuffer<T, S> {
        let block = Block::new(Place::Device, self.base, self.bytes, Storage::Driver(allocation));
        self.cuda.free.lend(self.bytes);
        let block = BlockRef::new(block, self.bytes, self.device);
        // SAFETY: the elements lie in the block (`look`), the order by this function's contract.
        DeviceBuffer::from_region(unsafe { Region::from_parts(self.base.cast(), len, Some(block), ctx.clone()) })
    }
}

impl<T: DType, S: StreamTag> DeviceBuffer<T, S> {
    /// A buffer of device memory that stays with other CUDA code: dropped, it frees nothing.
    ///
    /// ```
    /// # use escrow::{Device, DeviceBuffer, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let Ok(gpu) = Device::cuda(0) else { return Ok(()) };
    /// # let ctx = DeviceContext::new(gpu)?;
    /// # let theirs = ctx.enqueue_create_buffer::<f32>(4)?.enqueue_fill(3.0)?;
    /// # let raw = theirs.unsafe_ptr().cuda_ptr();
    /// // SAFETY: `raw` is memory of four floats of this GPU, written before on this stream, and lives until the wait in
    /// // `to_vec`.
    /// let dev = unsafe { DeviceBuffer::<f32>::from_cuda_ptr(&ctx, raw, 4) }?;
    /// assert_eq!(dev.to_vec()?, [3.0; 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if `ctx` is not of the GPU that the memory is on; [`Error::Layout`] if it is not aligned for
    /// `T`; [`Error::Refused`] for null; [`Error::Driver`] if the driver does not know the address.
    ///
    /// # Safety
    /// `ptr` is device memory of `len` elements, all written. It stays allocated, and nobody uses it but in order with
    /// `ctx`'s stream, until a wait has covered all that was enqueued on the buffer and on what came out of it (shared,
    /// handed off), and those are gone. What was done to it before is ordered before what `ctx`'s stream does from now
    /// on.
    pub unsafe fn from_cuda_ptr(ctx: &DeviceContext<S>, ptr: CUdeviceptr, len: usize) -> Result<Self, Error> {
        Ok(match Incoming::look::<T, S>(ctx, ptr, len)? {
            // SAFETY: this function's contract.
            Some(incoming) => unsafe { incoming.adopt(ctx, len, Allocation::Foreign) },
            None => DeviceBuffer::empty(ctx),
        })
    }

    /// Takes over a buffer of cust. Its memory goes back with `cuMemFree`, which may wait for the whole device; so, like
    /// all such memory, when the device is [trimmed](Device::trim) or memory runs out, after the buffer was dropped and a
    /// wait has covered its use.
    ///
    /// ```
    /// # use escrow::{Device, DeviceBuffer, DeviceContext};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let Ok(gpu) = Device::cuda(0) else { return Ok(()) };
    /// let ctx = DeviceContext::new(gpu)?;
    /// let _current = escrow::cust::quick_init()?; // cust allocates in the thread's current context
    /// let theirs = escrow::cust::memory::DeviceBuffer::from_slice(&[1.0f32, 2.0])?;
    /// escrow::cust::context::CurrentContext::synchronize()?; // the upload may still be running
    /// // SAFETY: nothing is pending on the memory, and no copy of its pointer is left.
    /// let dev = unsafe { DeviceBuffer::from_cust(&ctx, theirs) }?;
    /// assert_eq!(dev.to_vec()?, [1.0, 2.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for [`from_cuda_ptr`](DeviceBuffer::from_cuda_ptr); cust's buffer comes back.
    ///
    /// # Safety
    /// All elements are written. All work on the memory, also a copy that cust's safe functions left running, is done or
    /// ordered before what `ctx`'s stream does from now on, and nobody uses it through a copy of the pointer. The driver
    /// gave the memory to cust (`cuMemAlloc`, `cuMemAllocAsync`), and the buffer is all of it.
    pub unsafe fn from_cust(ctx: &DeviceContext<S>, buffer: CustBuffer<T>) -> Result<Self, Fault<CustBuffer<T>>>
    where
        T: DeviceCopy,
    {
        let (ptr, len) = (buffer.as_device_ptr().as_raw(), buffer.len());
        match Incoming::look::<T, S>(ctx, ptr, len) {
            Ok(Some(incoming)) => {
                let _ = ManuallyDrop::new(buffer);
                let cuda = incoming.cuda;
                // SAFETY: this function's contract; cust frees with `cuMemFree` too, and no longer does.
                Ok(unsafe { incoming.adopt(ctx, len, Allocation::Plain(cuda)) })
            }
            Ok(None) => Ok(DeviceBuffer::empty(ctx)),
            Err(error) => Err(Fault { error, value: buffer }),
        }
    }

    /// Hands the memory over to cust, which frees it with `cuMemFree`, in whatever context is current then. Waits for the
    /// stream, since cust knows nothing of it. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let Ok(gpu) = Device::cuda(0) else { return Ok(()) };
    /// let ctx = DeviceContext::new(gpu)?;
    /// let _current = escrow::cust::quick_init()?; // cust needs a current context
    /// let theirs = ctx.enqueue_create_buffer_zeroed::<f32>(2)?.into_cust()?;
    /// assert_eq!(theirs.as_host_vec()?, [0.0; 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`] on the CPU device; [`Error::Refused`] for memory that is not ours
    /// ([`from_cuda_ptr`](DeviceBuffer::from_cuda_ptr)); [`Error::StillShared`] while reads of dropped shared handles are
    /// pending; [`Error::Driver`] if the wait fails. The buffer comes back.
    pub fn into_cust(self) -> Result<CustBuffer<T>, Fault<Self>>
    where
        T: DeviceCopy,
    {
        const OP: Operation = Operation::Pointer;
        let may_go = || {
            if self.context().stream().cuda().is_none() {
                return Err(Error::WrongDevice { op: OP });
            }
            if let Some(block) = self.block()
                && matches!(block.storage(), Storage::Driver(Allocation::Foreign))
            {
                return Err(Error::Refused { op: OP, why: "the memory belongs to other CUDA code already" });
            }
            self.context().stream().synchronize(OP)?;
            match self.block().map_or(1, BlockRef::holders) {
                1 => Ok(()),
                holders => Err(Error::StillShared { holders }),
            }
        };
        let own = match may_go().and_then(|()| self.out_of_the_pool()) {
            Ok(own) => own,
            Err(error) => return Err(Fault { error, value: self }),
        };
        if let Some(mut own) = own {
            let ptr = address(own.disown().as_ptr());
            // SAFETY: as below.
            return Ok(unsafe { CustBuffer::from_raw_parts(DevicePointer::from_raw(ptr), self.len()) });
        }
        let (_, len, block, ctx) = self.into_region().into_parts();
        // The one count, so it is the last; and the reads of shared handles were waited for with the stream.
        let block = block.and_then(BlockRef::into_last);
        let ptr = block.map_or(0, |mut block| {
            if let Some(core) = ctx.stream().cuda() {
                core.device().free.release(block.capacity());
            }
            address(block.disown().as_ptr())
        });
        // SAFETY: the driver gave the memory, a whole block of at least `len` elements, all written. Nothing is pending on
        // it (the wait above), nobody else has it, and it is freed by cust from now on. Null for no elements, as cust
        // has it.
        Ok(unsafe { CustBuffer::from_raw_parts(DevicePointer::from_raw(ptr), len) })
    }

    /// A copy of memory of a pool, in memory of its own; `None` if the memory is not of a pool.
    ///
    /// `cuMemFree` waits for the device only if the memory did not come from a pool, and cust's safe functions leave work
    /// running that its drop counts on `cuMemFree` to wait for.
    fn out_of_the_pool(&self) -> Result<Option<Box<Block>>, Error> {
        const OP: Operation = Operation::Pointer;
        let (Some(core), Some(block)) = (self.context().stream().cuda(), self.block()) else { return Ok(None) };
        if !matches!(block.storage(), Storage::Driver(Allocation::Pool)) {
            return Ok(None);
        }
        let (device, bytes) = (core.device(), self.len() * size_of::<T>());
        let own = ManuallyDrop::new(memory::from_driver(device, bytes).map_err(|code| Error::Driver { op: OP, code })?);
        let (to, from) = (address(own.base().as_ptr()), self.unsafe_ptr().cuda_ptr());
        // Where an error says that the copy may run, its destination leaks.
        // SAFETY: both are memory of `bytes` bytes of this device, for this stream to use.
        check(OP, device.call(|| unsafe { raw::cuMemcpyDtoDAsync_v2(to, from, bytes, core.raw()) }))?;
        self.context().stream().synchronize(OP)?;
        Ok(Some(ManuallyDrop::into_inner(own)))
    }
}
