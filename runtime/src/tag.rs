//! Stream tags: names for streams that the compiler can tell apart.

/// The name of a stream, as a type and a value.
///
/// A tag is a label: memory of one tag never meets an operation of another, which is a compile error. It is not the
/// proof: every operation also compares the streams themselves, so several streams may bear one tag, and mixing those
/// is [`Error::WrongStream`](crate::Error::WrongStream).
///
/// ```
/// use escrow::{Device, DeviceContext};
/// escrow::streams! { Upload, Compute }
/// # fn main() -> Result<(), escrow::Error> {
/// let up = DeviceContext::tagged(Upload, Device::cpu())?;
/// let cp = up.fork_tagged(Compute)?;
/// let dev = up.enqueue_create_buffer_zeroed::<f32>(16)?;
/// let dev = up.handoff(dev, &cp)?; // from here on the buffer is `Compute`'s
/// # drop(dev);
/// # Ok(()) }
/// ```
///
/// Without the handoff, what two streams own does not meet:
///
/// ```compile_fail,E0277
/// # use escrow::{Device, DeviceContext, DeviceBuffer, Error};
/// escrow::streams! { Upload, Compute }
/// fn save(dev: &DeviceBuffer<f32, Upload>, backup: &mut DeviceBuffer<f32, Compute>) -> Result<(), Error> {
///     Ok(dev.enqueue_copy_to(backup)?) // `handoff` one of them first
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stream tag",
    label = "not a stream tag",
    note = "declare tags with `escrow::streams! {{ Upload, Compute }}`, or leave the parameter out for a stream without a name"
)]
pub trait StreamTag: Copy + Send + Sync + 'static {
    /// The tag's name in messages.
    const NAME: &'static str;
}

/// The tag of streams without a name, and the default everywhere. Which stream is meant is compared when the program
/// runs.
///
/// ```
/// # use escrow::{Device, DeviceContext, Error, Fault};
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// let (a, b) = (ctx.fork()?, ctx.fork()?); // both `DeviceContext<Dyn>`
/// let there = a.enqueue_create_buffer_zeroed::<f32>(4)?;
/// let mut here = b.enqueue_create_buffer_zeroed::<f32>(4)?;
/// assert!(matches!(here.enqueue_copy_from(&there), Err(Fault { error: Error::WrongStream { .. }, .. })));
/// let there = a.handoff(there, &b)?;
/// here.enqueue_copy_from(&there)?;
/// # Ok(()) }
/// ```
///
/// It is a tag like others: a stream without a name is not one with a name.
///
/// ```compile_fail,E0308
/// # use escrow::{Device, DeviceContext};
/// escrow::streams! { Upload }
/// # fn main() -> Result<(), escrow::Error> {
/// let up: DeviceContext<Upload> = DeviceContext::new(Device::cpu())?; // `tagged(Upload, Device::cpu())`
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dyn;

#[diagnostic::do_not_recommend]
impl StreamTag for Dyn {
    const NAME: &'static str = "Dyn";
}

/// Declares stream tags: one unit struct for each name.
///
/// ```
/// escrow::streams! {
///     /// Copies to the device.
///     pub Upload,
///     Compute,
/// }
/// # let _ = (Upload, Compute);
/// ```
#[macro_export]
macro_rules! streams {
    ($($(#[$meta:meta])* $vis:vis $name:ident),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis struct $name;
        #[diagnostic::do_not_recommend]
        impl $crate::StreamTag for $name {
            const NAME: &'static str = ::core::stringify!($name);
        }
    )+ };
}
