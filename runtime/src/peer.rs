//! Copies from one device to another.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::device_buffer::DeviceBuffer;
use crate::dtype::DType;
use crate::error::{Error, Fault, Operation};
use crate::region::admit;
use crate::stream::not_on_worker;
use crate::tag::StreamTag;

/// Enqueues a copy of all elements of `src` to `dst`, on the stream of `dst`.
fn enqueue<T, U, S: StreamTag, S2: StreamTag>(
    dst: &DeviceBuffer<U, S>,
    src: &DeviceBuffer<T, S2>,
) -> Result<(), Error> {
    const OP: Operation = Operation::Copy;
    const { assert!(size_of::<T>() == size_of::<U>()) };
    not_on_worker(OP)?;
    let (here, there) = (dst.context().stream(), src.context().stream());
    if !here.device().shares_host_memory_with(there.device()) {
        return Err(Error::WrongDevice { op: OP });
    }
    let to = admit(OP, here, dst.operand())?;
    let from = admit(OP, there, src.operand())?;
    if to.len != from.len {
        return Err(Error::Length { op: OP, dst: to.len, src: from.len });
    }
    let bytes = to.len * size_of::<T>();
    let (Some(dst_block), Some(src_block)) = (dst.block(), src.block()) else { return Ok(()) };
    if bytes == 0 {
        return Ok(());
    }
    if Arc::ptr_eq(here, there) {
        // SAFETY: both are of this stream and have as many bytes. They are two buffers, which share no memory, and are
        // freed in stream order.
        return unsafe { here.copy(to, from, bytes, None) };
    }
    // SAFETY: as above; the source stays as it is until its own stream comes to the edge back, since it is borrowed
    // during this call.
    unsafe { here.copy_peer(there, to, from, bytes, [dst_block, src_block]) }
}

impl<T: DType, S: StreamTag> DeviceBuffer<T, S> {
    /// Enqueues a copy of all elements of `src`, a buffer of another device or stream, into this buffer. It runs on this
    /// buffer's stream, behind what the stream of `src` has been given so far; what that one is given from now on comes
    /// behind the copy. This is the one operation that crosses devices of a kind: GPU to GPU, or CPU to CPU. Lengths must
    /// be equal. Does not block, but where one of two CPU devices is under chaos.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// let first = DeviceContext::new(Device::cpu())?;
    /// let second = DeviceContext::new(Device::cpu_chaos(1))?; // on a machine with two GPUs: `Device::cuda(1)?`
    /// let mut weights = first.enqueue_create_buffer::<f32>(4)?.enqueue_fill(0.5)?;
    /// let mut replica = second.enqueue_create_buffer_zeroed::<f32>(4)?;
    /// replica.enqueue_copy_peer(&weights)?;
    /// weights.enqueue_fill(0.0)?; // comes behind the copy
    /// assert_eq!(replica.to_vec()?, [0.5; 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// All else keeps to one device:
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let first = DeviceContext::new(Device::cpu())?;
    /// # let second = DeviceContext::new(Device::cpu_chaos(1))?;
    /// let weights = first.enqueue_create_buffer_zeroed::<f32>(4)?;
    /// let fault = first.handoff(weights, &second).unwrap_err();
    /// assert!(matches!(fault.error, Error::WrongDevice { .. }));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongDevice`] between a GPU and the CPU; nothing was enqueued. [`Error::Driver`]: this
    /// buffer's elements are unspecified. If the driver can neither order the source behind the copy nor wait for it,
    /// the memory of both buffers is never freed.
    pub fn enqueue_copy_peer<S2: StreamTag>(&mut self, src: &DeviceBuffer<T, S2>) -> Result<(), Error> {
        enqueue(self, src)
    }
}

/// Memory that nothing has written: the copy writes all of it.
impl<T: DType, S: StreamTag> DeviceBuffer<MaybeUninit<T>, S> {
    /// Enqueues a copy of all elements of `src`, a buffer of another device or stream, into this buffer, as
    /// [`enqueue_copy_peer`](DeviceBuffer::enqueue_copy_peer) of a written one, and returns it written.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let first = DeviceContext::new(Device::cpu())?;
    /// # let second = DeviceContext::new(Device::cpu_chaos(1))?;
    /// let weights = first.enqueue_create_buffer_zeroed::<f32>(4)?;
    /// let replica = second.enqueue_create_buffer::<f32>(weights.len())?.enqueue_copy_peer(&weights)?;
    /// assert_eq!(replica.to_vec()?, weights.to_vec()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As there; the buffer comes back.
    pub fn enqueue_copy_peer<S2: StreamTag>(
        self,
        src: &DeviceBuffer<T, S2>,
    ) -> Result<DeviceBuffer<T, S>, Fault<Self>> {
        match enqueue(&self, src) {
            // SAFETY: the copy writes all elements, and what comes next on the stream comes behind it.
            Ok(()) => Ok(unsafe { self.assume_init() }),
            Err(error) => Err(Fault { error, value: self }),
        }
    }
}
