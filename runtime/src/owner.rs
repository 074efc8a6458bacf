use crate::{DeviceBuffer, HostBuffer, HostMemory, InFlight, StreamTag};

/// Memory that several values own. Buffers that can be written are not.
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let host = ctx.create_host_buffer::<f32>(2)?;
/// let other = host.clone(); // a `HostBuffer` has one owner
/// # Ok(()) }
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let host = ctx.create_host_buffer::<f32>(2)?;
/// let copy = ctx.create_host_buffer_from(&host)?; // memory of its own
/// let shared = host.into_shared();
/// let other = shared.clone();                     // the same memory, to read
/// assert_eq!((copy.len(), other.len()), (2, shared.len()));
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can be written, so it has one owner and is not cloned",
    label = "has one owner",
    note = "for handles to the same memory that read: `into_shared()`, of memory in flight after the wait",
    note = "for a copy: `ctx.create_host_buffer_from(&host)`, `ctx.enqueue_create_buffer_from(&dev)`"
)]
pub trait ManyOwners {}

// Never satisfied: they exist for the message.
#[doc(hidden)]
#[allow(missing_docs, clippy::should_implement_trait)]
impl<T, S: StreamTag> HostBuffer<T, S> {
    pub fn clone(&self) -> Self
    where
        Self: ManyOwners,
    {
        unreachable!("what can be written is never `ManyOwners`")
    }
}

#[doc(hidden)]
#[allow(missing_docs, clippy::should_implement_trait)]
impl<T, S: StreamTag> DeviceBuffer<T, S> {
    pub fn clone(&self) -> Self
    where
        Self: ManyOwners,
    {
        unreachable!("what can be written is never `ManyOwners`")
    }
}

#[doc(hidden)]
#[allow(missing_docs, clippy::should_implement_trait)]
impl<H: HostMemory> InFlight<H> {
    pub fn clone(&self) -> Self
    where
        Self: ManyOwners,
    {
        unreachable!("what can be written is never `ManyOwners`")
    }
}
