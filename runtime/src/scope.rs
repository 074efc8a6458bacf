//! Borrowed host memory: a closure that does not return before the stream is done with it.

use std::fmt;
use std::marker::PhantomData;
use std::process::abort;
use std::ptr::NonNull;

use crate::block::Place;
use crate::context::DeviceContext;
#[cfg(feature = "cuda")]
use crate::cuda::Registrations;
#[cfg(feature = "cuda")]
use crate::device::Kind;
use crate::dtype::DType;
use crate::error::{Error, Operation};
use crate::landing::Landings;
use crate::region::{Candidate, Window, byte_len};
use crate::stream::{Stream, not_on_worker};
use crate::tag::{Dyn, StreamTag};

/// Lends slices to the stream of the context whose [`scope`](DeviceContext::scope) this is.
///
/// As with `std::thread::scope`, what is lent cannot leave the closure; the compiler then says "lifetime may not live
/// long enough" or "borrowed data escapes".
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let input = [1u8, 2]; // outside: it must outlive the scope
/// ctx.scope(|s| Ok(dev.enqueue_copy_from(s.lend(&input))?))?;
/// assert_eq!(dev.to_vec()?, [1, 2]);
/// # Ok(()) }
/// ```
///
/// What is lent lives longer than the scope:
///
/// ```compile_fail,E0597
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// ctx.scope(|s| {
///     let input = [1u8, 2]; // gone before the scope has waited
///     Ok(dev.enqueue_copy_from(s.lend(&input))?)
/// })?;
/// # Ok(()) }
/// ```
///
/// And the host has it back when the scope is over, not before:
///
/// ```compile_fail,E0502
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let mut output = [0u8; 2];
/// ctx.scope(|s| {
///     dev.enqueue_copy_to(s.lend_mut(&mut output))?;
///     println!("{}", output[0]); // the copy may still be running: read it behind the scope
///     Ok(())
/// })?;
/// # Ok(()) }
/// ```
pub struct Scope<'scope, 'env: 'scope, S: StreamTag = Dyn> {
    ctx: DeviceContext<S>,
    landings: &'scope Landings,
    #[cfg(feature = "cuda")]
    registered: &'scope Registrations,
    // Invariant in both, as in `std::thread::scope`.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// Waits when the scope ends, also while unwinding, brings downloads to where they go, and unpins what was registered. It
/// lies in the frame of `scope`, where no user can forget it.
struct WaitAtEnd<'a> {
    stream: Option<&'a Stream>,
    landings: &'a Landings,
    #[cfg(feature = "cuda")]
    registered: &'a Registrations,
}

impl WaitAtEnd<'_> {
    fn wait(&mut self) -> Result<(), Error> {
        let Some(stream) = self.stream.take() else { return Ok(()) };
        let waited = stream.synchronize(Operation::Scope);
        match &waited {
            Ok(()) => self.landings.end(),
            Err(_) => self.landings.give_up(stream),
        }
        match waited {
            // A wait of the CPU device that fails like this has waited all the same: the worker has passed everything.
            done @ (Ok(()) | Err(Error::StreamFailed(_) | Error::PeFailed(_) | Error::Diverged(_))) => {
                #[cfg(feature = "cuda")]
                self.registered.end();
                done
            }
            // A GPU never touches lent memory, so what it may still be doing does not matter.
            #[cfg(feature = "cuda")]
            failed @ Err(Error::Driver { .. }) if self.registered.is_empty() => failed,
            // The memory may still be in use, and its lender is about to have it back.
            Err(_) => abort(),
        }
    }
}

impl Drop for WaitAtEnd<'_> {
    fn drop(&mut self) {
        crate::symmetric::announce_panic();
        let _ = self.wait(); // unwinding: there is nobody to report to
    }
}

impl<S: StreamTag> DeviceContext<S> {
    /// Runs `f`, in which slices can be lent to this stream, and waits for the stream before it returns, also when `f`
    /// fails or panics. **Blocks.**
    ///
    /// ```
    /// use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// let ctx = DeviceContext::new(Device::cpu())?;
    /// let input = vec![1.0f32; 64];
    /// let mut output = [0.0f32; 64];
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(64)?;
    /// ctx.scope(|s| {
    ///     dev.enqueue_copy_from(s.lend(&input))?;
    ///     dev.enqueue_copy_to(s.lend_mut(&mut output))?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(output, [1.0; 64]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of `f`; else [`Error::StreamFailed`] or [`Error::Driver`] of the wait. Nothing uses the lent memory any more
    /// either way. Only where memory was [registered](Scope::register) and the driver cannot tell that a GPU is done with
    /// it, the process ends.
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.scope_for(Operation::Scope, f)
    }

    /// A scope on behalf of another operation, which errors then name.
    pub(crate) fn scope_for<'env, R>(
        &self,
        op: Operation,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // A worker cannot wait for itself, so it must not lend.
        not_on_worker(op)?;
        #[cfg(feature = "cuda")]
        let registered = Registrations::default();
        let landings = Landings::default();
        let scope = Scope {
            ctx: self.clone(),
            landings: &landings,
            #[cfg(feature = "cuda")]
            registered: &registered,
            lifetimes: PhantomData,
        };
        let mut end = WaitAtEnd {
            stream: Some(self.stream()),
            landings: &landings,
            #[cfg(feature = "cuda")]
            registered: &registered,
        };
        let result = f(&scope);
        let waited = end.wait();
        let value = result?;
        waited.map(|()| value)
    }
}

impl<'scope, S: StreamTag> Scope<'scope, '_, S> {
    /// Lends a slice, as the source of copies on this stream.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(4)?;
    /// let input = vec![1u8, 2];
    /// ctx.scope(|s| {
    ///     let input = s.lend(&input);
    ///     let (mut low, mut high) = dev.as_span_mut().split_at(2)?;
    ///     low.enqueue_copy_from(input)?;
    ///     Ok(high.enqueue_copy_from(input)?) // `Copy`: a source of any number of copies
    /// })?;
    /// assert_eq!(dev.to_vec()?, [1, 2, 1, 2]);
    /// # Ok(()) }
    /// ```
    pub fn lend<T: DType>(&'scope self, host: &'scope [T]) -> HostSpan<'scope, T, S> {
        const { T::VALID };
        HostSpan { window: Window::lent(NonNull::from(host).cast(), host.len(), &self.ctx) }
    }

    /// Lends a slice, as the destination of a copy on this stream. It can be read again after the scope.
    ///
    /// Copies from a GPU go through pinned memory of this library and arrive at the end of the scope, as long as they have
    /// up to 8 MiB, and up to 32 MiB together. What is more waits in the call.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer::<u8>(3)?.enqueue_fill(6)?;
    /// let mut output = [0u8; 3];
    /// ctx.scope(|s| Ok(dev.enqueue_copy_to(s.lend_mut(&mut output))?))?;
    /// assert_eq!(output, [6; 3]);
    /// # Ok(()) }
    /// ```
    pub fn lend_mut<T: DType>(&'scope self, host: &'scope mut [T]) -> HostSpanMut<'scope, T, S> {
        const { T::VALID };
        let len = host.len();
        let window = Window::lent(NonNull::from(host).cast(), len, &self.ctx);
        HostSpanMut { window, landings: self.landings, exclusive: PhantomData }
    }

    pub(crate) fn landings(&self) -> &'scope Landings {
        self.landings
    }

    /// Pins a slice until the end of the scope, so that a GPU copies from and to it directly, both ways and any number of
    /// times. Pinning takes the driver long (about a millisecond for 10 MiB), and pays off where the same memory is copied
    /// often; what is only [lent](Scope::lend) goes through pinned memory of this library. On the CPU device it costs
    /// nothing.
    ///
    /// The slice is unpinned behind the wait at the end of the scope. **Ends the process** if that fails, or if the wait
    /// does: a GPU could still be writing to it.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut samples = vec![1.0f32; 64];
    /// let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(64)?;
    /// ctx.scope(|s| {
    ///     let mut samples = s.register(&mut samples)?;
    ///     dev.enqueue_copy_from(&samples)?; // a source,
    ///     dev.enqueue_fill(2.0)?;
    ///     Ok(dev.enqueue_copy_to(&mut samples)?) // and then a destination
    /// })?;
    /// assert_eq!(samples, [2.0; 64]);
    /// # Ok(()) }
    /// ```
    ///
    /// Until the scope is over it is not the host's:
    ///
    /// ```compile_fail,E0502
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let dev = ctx.enqueue_create_buffer_zeroed::<f32>(64)?;
    /// let mut samples = vec![1.0f32; 64];
    /// ctx.scope(|s| {
    ///     let mut pinned = s.register(&mut samples)?;
    ///     dev.enqueue_copy_to(&mut pinned)?;
    ///     println!("{}", samples[0]); // read it behind the scope
    ///     Ok(())
    /// })?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`] if the memory cannot be pinned: the system limits it, or a page of it is pinned already. Then it
    /// is as it was.
    pub fn register<T: DType>(&'scope self, host: &'scope mut [T]) -> Result<RegisteredSpan<'scope, T, S>, Error> {
        const { T::VALID };
        not_on_worker(Operation::Register)?;
        let (len, base) = (host.len(), NonNull::from(host).cast::<T>());
        let bytes = byte_len::<T>(len)?;
        #[cfg(feature = "cuda")]
        if let Kind::Cuda(device) = self.ctx.device().kind()
            && bytes > 0
        {
            // SAFETY: the slice is borrowed for `'scope`, which ends behind the end of the scope's frame, where the list
            // is worked off.
            unsafe { self.registered.add(device, base.as_ptr().cast(), bytes) }?;
        }
        #[cfg(not(feature = "cuda"))]
        let _ = bytes;
        Ok(RegisteredSpan { window: Window::lent(base, len, &self.ctx), exclusive: PhantomData })
    }
}

impl<S: StreamTag> fmt::Debug for Scope<'_, '_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope(tag: {})", S::NAME)
    }
}

/// A slice lent to a scope's stream: the source of copies. `Copy`.
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let input = [5u8; 3];
/// let dev = ctx.scope(|s| {
///     let span = s.lend(&input);
///     Ok(ctx.enqueue_create_buffer_from(span)?)
/// })?;
/// assert_eq!(dev.to_vec()?, input);
/// # Ok(()) }
/// ```
///
/// It is for the stream of its scope only, since the scope waits for no other:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Error};
/// escrow::streams! { Upload, Compute }
/// fn fill(up: &DeviceContext<Upload>, dev: &mut DeviceBuffer<u8, Compute>, input: &[u8]) -> Result<(), Error> {
///     up.scope(|s| Ok(dev.enqueue_copy_from(s.lend(input))?))
/// }
/// ```
pub struct HostSpan<'scope, T, S: StreamTag = Dyn> {
    window: Window<'scope, T, S>,
}

impl<T, S: StreamTag> HostSpan<'_, T, S> {
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.window.candidate(Place::Lent)
    }
}

impl<T, S: StreamTag> Clone for HostSpan<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: StreamTag> Copy for HostSpan<'_, T, S> {}

impl<T, S: StreamTag> fmt::Debug for HostSpan<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostSpan(len: {}, tag: {})", self.window.len(), S::NAME)
    }
}

/// A slice lent to a scope's stream to write: the destination of one copy.
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
/// let mut output = [1u8; 4];
/// let (low, high) = output.split_at_mut(2);
/// ctx.scope(|s| {
///     dev.enqueue_copy_to(s.lend_mut(low))?;
///     Ok(dev.enqueue_copy_to(s.lend_mut(high))?)
/// })?;
/// assert_eq!(output, [0; 4]);
/// # Ok(()) }
/// ```
///
/// The same memory is lent for writing once in a scope:
///
/// ```compile_fail,E0499
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let dev = ctx.enqueue_create_buffer_zeroed::<u8>(4)?;
/// let mut output = [1u8; 4];
/// ctx.scope(|s| {
///     dev.enqueue_copy_to(s.lend_mut(&mut output))?;
///     Ok(dev.enqueue_copy_to(s.lend_mut(&mut output))?)
/// })?;
/// # Ok(()) }
/// ```
pub struct HostSpanMut<'scope, T, S: StreamTag = Dyn> {
    window: Window<'scope, T, S>,
    landings: &'scope Landings,
    exclusive: PhantomData<&'scope mut [T]>,
}

impl<T, S: StreamTag> HostSpanMut<'_, T, S> {
    pub(crate) fn operand(&self) -> Candidate<'_> {
        self.window.candidate(Place::Lent).landing_in(self.landings)
    }
}

impl<T, S: StreamTag> fmt::Debug for HostSpanMut<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostSpanMut(len: {}, tag: {})", self.window.len(), S::NAME)
    }
}

/// A slice that is pinned for the length of a scope: source and destination of copies on its stream, from
/// [`Scope::register`].
///
/// ```
/// # use escrow::{Device, DeviceContext};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let dev = ctx.enqueue_create_buffer::<u8>(2)?.enqueue_fill(7)?;
/// let mut output = [0u8; 4];
/// ctx.scope(|s| {
///     let (mut low, mut high) = s.register(&mut output)?.split_at(2)?;
///     dev.enqueue_copy_to(&mut low)?;
///     Ok(dev.enqueue_copy_to(&mut high)?)
/// })?;
/// assert_eq!(output, [7; 4]);
/// # Ok(()) }
/// ```
///
/// It is for the stream of its scope only, since the scope waits for no other:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Error};
/// escrow::streams! { Upload, Compute }
/// fn fill(up: &DeviceContext<Upload>, dev: &mut DeviceBuffer<u8, Compute>, input: &mut [u8]) -> Result<(), Error> {
///     up.scope(|s| Ok(dev.enqueue_copy_from(&s.register(input)?)?))
/// }
/// ```
pub struct RegisteredSpan<'scope, T, S: StreamTag = Dyn> {
    window: Window<'scope, T, S>,
    exclusive: PhantomData<&'scope mut [T]>,
}

impl<T, S: StreamTag> RegisteredSpan<'_, T, S> {
    pub(crate) fn operand(&self) -> Candidate<'_> {
        // Pinned, as ours is.
        self.window.candidate(Place::Host)
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut values = [0u16; 3];
    /// assert_eq!(ctx.scope(|s| Ok(s.register(&mut values)?.len()))?, 3);
    /// # Ok(()) }
    /// ```
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// assert!(ctx.scope(|s| Ok(s.register::<u8>(&mut [])?.is_empty()))?);
    /// # Ok(()) }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements before `mid`, and those from it on.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut dev = ctx.enqueue_create_buffer_zeroed::<u8>(2)?;
    /// let mut values = [1u8, 2, 3, 4];
    /// ctx.scope(|s| {
    ///     let (low, mut high) = s.register(&mut values)?.split_at(2)?;
    ///     dev.enqueue_copy_from(&low)?;
    ///     Ok(dev.enqueue_copy_to(&mut high)?)
    /// })?;
    /// assert_eq!(values, [1, 2, 1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn split_at(self, mid: usize) -> Result<(Self, Self), Error> {
        let (low, high) = self.window.split_at(mid)?;
        let part = |window| RegisteredSpan { window, exclusive: PhantomData };
        Ok((part(low), part(high)))
    }
}

impl<T, S: StreamTag> fmt::Debug for RegisteredSpan<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredSpan(len: {}, tag: {})", self.window.len(), S::NAME)
    }
}
