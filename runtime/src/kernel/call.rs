//! What the methods of a kernel set do. The expansion of `#[kernels]` names all of this; users do not.
//!
//! A method goes through these steps, and an error in any of them has enqueued nothing:
//! 1. [`Call::new`]: device and thread. 2. Every operand: [`Call::read`], [`Call::write`], [`Call::out`],
//!    [`Call::pass`]. 3. `requires`. 4. `len_of`. 5. Geometry, and what `out` demands of it. 6. [`Call::enqueue`].

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use crate::context::DeviceContext;
#[cfg(feature = "cuda")]
use crate::cuda::Functions;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Operation, Requirement};
use crate::kernel::launch::{Geometry, geometry};
use crate::kernel::{
    DevicePassable, DeviceRead, DeviceWrite, Dim, KernelLen, KernelOut, KernelSpan, KernelSpanMut, Launch, Share,
};
use crate::op::{CpuLaunch, Packed};
use crate::operand::{SameElem, SameStream};
use crate::region::{Admitted, Candidate, admit};
use crate::span::{DeviceSpan, DeviceSpanMut};
use crate::stream::not_on_worker;
use crate::symmetric::{PeerSpan, ShmemBuffer};
use crate::tag::StreamTag;

const OP: Operation = Operation::Launch;

/// What compares the streams of a launch's operands with the stream that it runs on. Only
/// [`DevicePassable::visit`] sees one.
///
/// ```
/// # use escrow::{Device, DeviceContext, ArgCheck, DevicePassable, Error, StreamTag};
/// // A `visit` hands the check on to the values inside.
/// fn show<P: DevicePassable<S>, S: StreamTag>(value: &P, check: &mut ArgCheck<'_, S>) -> Result<(), Error> {
///     value.visit(check)
/// }
/// # let _ = show::<u32, escrow::Dyn>;
/// ```
///
/// ```compile_fail,E0451
/// # use escrow::{Device, DeviceContext, Error};
/// fn forge(ctx: &DeviceContext) {
///     let check = escrow::ArgCheck { ctx, length: None }; // only a launch makes one
/// }
/// ```
pub struct ArgCheck<'c, S: StreamTag> {
    ctx: &'c DeviceContext<S>,
    /// The first length that does not fit. It is reported behind everything that concerns streams.
    length: Option<Error>,
}

impl<S: StreamTag> ArgCheck<'_, S> {
    /// Compares one operand.
    #[inline]
    pub(crate) fn admit(&mut self, operand: Candidate<'_>) -> Result<Admitted, Error> {
        admit(OP, self.ctx.stream(), operand)
    }

    /// A length as the integer that hands it to the kernel. One that does not fit stops the launch, but not here: what
    /// concerns streams is reported first.
    #[doc(hidden)]
    #[inline]
    pub fn len<N: KernelLen>(&mut self, name: &'static str, len: usize) -> Result<N, Error> {
        if N::try_from_len(len).is_none() {
            self.misfit(Error::LengthOf { name, len, bits: N::BITS });
        }
        Ok(N::from_len(len))
    }

    #[cold]
    fn misfit(&mut self, error: Error) {
        self.length.get_or_insert(error);
    }
}

impl<S: StreamTag> fmt::Debug for ArgCheck<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgCheck").field("ctx", &self.ctx).finish_non_exhaustive()
    }
}

mod visit {
    // With the trait's parameter: a user's own tag would get past a plain seal.
    pub trait Sealed<S> {}
    impl<P: crate::kernel::DevicePassable<S>, S: crate::tag::StreamTag> Sealed<S> for P {}
}

/// A value that is passed to a kernel on a stream with tag `S`.
///
/// [`DevicePassable`] under another name: a bound `P: DevicePassable<S>` would make the compiler look for
/// `P::Body` in the bound, where it says nothing, instead of in the implementation.
pub trait Visit<S: StreamTag>: visit::Sealed<S> {
    #[allow(missing_docs)]
    fn show(&self, check: &mut ArgCheck<'_, S>) -> Result<(), Error>;
}

impl<P: DevicePassable<S>, S: StreamTag> Visit<S> for P {
    #[inline]
    fn show(&self, check: &mut ArgCheck<'_, S>) -> Result<(), Error> {
        self.visit(check)
    }
}

/// Device memory of a launch, compared with its stream. Conditions see its length.
pub struct Arg<'a, T> {
    admitted: Admitted,
    memory: PhantomData<&'a [T]>,
}

impl<T> Arg<'_, T> {
    #[allow(missing_docs)]
    pub fn len(&self) -> usize {
        self.admitted.len
    }

    #[allow(missing_docs)]
    pub fn is_empty(&self) -> bool {
        self.admitted.len == 0
    }

    /// # Safety
    /// For [`Call::enqueue`] only.
    #[inline]
    pub unsafe fn to_read(&self) -> KernelSpan<'static, T> {
        // SAFETY: admitted memory holds `len` elements of `T` (`SameElem`), and the body that gets them runs in stream
        // order, behind all writes that precede the borrow of the call and before all that follow.
        unsafe { KernelSpan::new(self.admitted.ptr.cast(), self.admitted.len) }
    }

    /// The kernel's parameter: an address, null where there are no elements.
    ///
    /// # Safety
    /// For [`Call::enqueue_on_gpu`] only.
    #[inline]
    pub unsafe fn to_device(&self) -> u64 {
        if self.is_empty() { 0 } else { self.admitted.ptr.expose_provenance() as u64 }
    }

    /// # Safety
    /// For [`Call::enqueue`] only, and of an argument from [`Call::write`] or [`Call::out`].
    #[inline]
    pub unsafe fn to_write(&self) -> KernelSpanMut<'static, T> {
        // SAFETY: as in `to_read`, for memory that the call borrowed mutably or owns. It is initialised, as all memory
        // of the CPU device is.
        unsafe { KernelSpanMut::new(self.admitted.ptr.cast(), self.admitted.len) }
    }
}

impl<T> fmt::Debug for Arg<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arg(len: {})", self.admitted.len)
    }
}

/// A kernel's Rust body.
pub trait CpuBody {
    /// What it gets, apart from its share.
    type Args<'k>: Copy + Send + Sync;
    /// Whether it wants all threads in one call.
    const SINGLE: bool;

    /// Calls the body.
    ///
    /// # Safety
    /// If `SINGLE`: this is the only call of the launch.
    unsafe fn run(share: &mut Share<'_>, args: Self::Args<'_>);
}

/// Runs one share.
///
/// # Safety
/// `args` points to the arguments that [`Call::enqueue`] packed for `B`, and their memory is the kernel's to use. No
/// other call for the launch has any of the indices; if `B::SINGLE`, there is no other call.
unsafe fn run<B: CpuBody>(args: *const u8, start: usize, end: usize) {
    fn with<B: CpuBody>(share: &mut Share<'_>, args: B::Args<'_>) {
        // SAFETY: the contract of `run`.
        unsafe { B::run(share, args) }
    }
    // SAFETY: the contract of this function. The arguments are read under a lifetime that ends with this call.
    let (threads, args) = unsafe { args.cast::<(usize, B::Args<'_>)>().read() };
    // SAFETY: no other share has these indices, and this one is gone at the end.
    let mut share = unsafe { Share::new(start..end, threads) };
    with::<B>(&mut share, args);
}

/// One call of a kernel, up to its enqueue.
#[derive(Debug)]
pub struct Call<'c, S: StreamTag> {
    check: ArgCheck<'c, S>,
    kernel: &'static str,
}

impl<'c, S: StreamTag> Call<'c, S> {
    /// Begins with device and thread.
    #[inline]
    pub fn new(device: &Device, ctx: &'c DeviceContext<S>, kernel: &'static str) -> Result<Self, Error> {
        if device != ctx.device() {
            return Err(Error::WrongDevice { op: OP });
        }
        not_on_worker(OP)?;
        Ok(Call { check: ArgCheck { ctx, length: None }, kernel })
    }

    /// An argument that the kernel reads.
    #[inline]
    pub fn read<'a, T: DType, A: DeviceRead + ?Sized>(&mut self, argument: &'a A) -> Result<Arg<'a, T>, Error>
    where
        A::Elem: SameElem<T>,
        A::Tag: SameStream<S>,
    {
        const { T::VALID };
        Ok(Arg { admitted: self.check.admit(argument.candidate())?, memory: PhantomData })
    }

    /// An argument that the kernel writes.
    #[inline]
    pub fn write<'a, T: DType, A: DeviceWrite + ?Sized>(&mut self, argument: &'a mut A) -> Result<Arg<'a, T>, Error>
    where
        A::Elem: SameElem<T>,
        A::Tag: SameStream<S>,
    {
        const { T::VALID };
        Ok(Arg { admitted: self.check.admit(argument.candidate())?, memory: PhantomData })
    }

    /// An argument that the kernel writes as a whole.
    #[inline]
    pub fn out<'a, T: DType, A: KernelOut>(&mut self, argument: &'a A) -> Result<Arg<'a, T>, Error>
    where
        A::Elem: SameElem<T>,
        A::Tag: SameStream<S>,
    {
        const { T::VALID };
        Ok(Arg { admitted: self.check.admit(argument.candidate())?, memory: PhantomData })
    }

    /// An argument that is passed by value.
    #[inline]
    pub fn pass<P: DevicePassable<S>>(&mut self, argument: &P) -> Result<(), Error> {
        argument.visit(&mut self.check)
    }

    /// The same for a type of which the method says by a bound where it can be passed.
    #[inline]
    pub fn pass_on<P: Visit<S>>(&mut self, argument: &P) -> Result<(), Error> {
        argument.show(&mut self.check)
    }

    /// A condition that does not hold, with the values it was tried with.
    #[inline]
    pub fn unmet(&self, condition: &'static str, found: &[(&'static str, &dyn fmt::Debug)]) -> Error {
        unmet(self.kernel, condition, found)
    }

    /// The length that a `len_of` parameter gets.
    #[inline]
    pub fn len_of<N: KernelLen>(&self, name: &'static str, len: usize) -> Result<N, Error> {
        match N::try_from_len(len) {
            Some(number) => Ok(number),
            None => Err(Error::LengthOf { name, len, bits: N::BITS }),
        }
    }

    /// The lengths inside of what was passed.
    #[inline]
    pub fn lengths(&mut self) -> Result<(), Error> {
        match self.check.length.take() {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// One thread an element.
    #[inline]
    pub fn cover(&self, len: usize) -> Result<Geometry, Error> {
        Geometry::cover(self.kernel, len)
    }

    /// What the declaration computes.
    #[inline]
    pub fn computed(&self, grid: [u32; 3], block: [u32; 3], shared: u32) -> Result<Geometry, Error> {
        Geometry::new(self.kernel, Launch::new(grid, block).shared(shared))
    }

    /// What the caller chose, within the bounds of the declaration.
    #[inline]
    pub fn bounded(&self, launch: Launch, grid: [u32; 3], block: [u32; 3], shared: u32) -> Result<Geometry, Error> {
        Geometry::bounded(self.kernel, launch, &Launch::new(grid, block).shared(shared))
    }

    /// What the caller chose.
    #[inline]
    pub fn chosen(&self, launch: impl Into<Launch>) -> Result<Geometry, Error> {
        Geometry::new(self.kernel, launch.into())
    }

    /// `#[out(each)]`: thread `i` writes element `i`.
    #[inline]
    pub fn out_each(&self, geometry: &Geometry, name: &'static str, len: usize) -> Result<(), Error> {
        if geometry.threads < len { Err(uncovered(self.kernel, *geometry, name, len)) } else { Ok(()) }
    }

    /// `#[out(all)]`: every launch with threads writes all elements.
    #[inline]
    pub fn out_all(&self, geometry: &Geometry, name: &'static str, len: usize) -> Result<(), Error> {
        if geometry.threads == 0 && len > 0 { Err(uncovered(self.kernel, *geometry, name, len)) } else { Ok(()) }
    }

    /// A kernel that this device cannot run.
    #[inline]
    pub fn no_body(&self) -> Result<(), Error> {
        Err(Error::NoBody { kernel: self.kernel })
    }

    /// Whether device code runs here. Never without a driver.
    #[inline]
    pub fn is_on_gpu(&self) -> bool {
        #[cfg(feature = "cuda")]
        return self.check.ctx.stream().cuda().is_some();
        #[cfg(not(feature = "cuda"))]
        false
    }

    /// Enqueues the launch of device code; nothing for one without threads. The grid is whole: a kernel that covers a
    /// span sees by itself which of its threads have an element.
    ///
    /// # Safety
    /// `functions` are those of the set, and `params` points to one value for each parameter of function `at`, of the
    /// parameter's size, on the GPU. The values come from arguments of this call: all that [`pass`](Call::pass) has
    /// visited, and those that this call admitted; those to be written, from [`write`](Call::write) and
    /// [`out`](Call::out). Run for this geometry the kernel makes no access outside of them, and no two threads race.
    #[inline(always)] // what the declaration says of the geometry is known here
    pub unsafe fn enqueue_on_gpu(
        &self,
        geometry: &Geometry,
        functions: &Functions,
        at: usize,
        params: &mut [*mut c_void],
    ) -> Result<(), Error> {
        if geometry.threads == 0 {
            return Ok(());
        }
        #[cfg(feature = "cuda")]
        if let (Some(core), Some(function)) = (self.check.ctx.stream().cuda(), functions.get(at)) {
            let (launch, params) = (&geometry.launch, params.as_mut_ptr());
            let raw = function.admit(self.kernel, launch)?;
            if launch.is_plain() {
                // SAFETY: the contract of this function. All memory in the arguments was compared with this stream, is
                // borrowed or owned by this call, and is freed in stream order, so it is valid, and used by nobody else,
                // when the stream comes to this launch.
                return unsafe { core.launch(raw, launch, params) };
            }
            core.admit_attributes(function, self.kernel, *launch)?;
            // SAFETY: as above.
            return unsafe { core.launch_with_attributes(raw, *launch, params) };
        }
        let _ = (functions, at, params);
        self.no_body()
    }

    /// Enqueues the launch; nothing for one without threads.
    ///
    /// # Safety
    /// The arguments come from arguments of this call: all that [`pass`](Call::pass) has visited, and those that this call
    /// admitted; those to be written, from [`write`](Call::write) and [`out`](Call::out). Run for this geometry the body
    /// makes no access outside of them, and no two threads race.
    #[inline]
    pub unsafe fn enqueue<B: CpuBody>(&self, geometry: &Geometry, args: B::Args<'static>) -> Result<(), Error> {
        if self.is_on_gpu() {
            return self.no_body();
        }
        if geometry.threads == 0 {
            return Ok(());
        }
        let launch = CpuLaunch {
            run: run::<B>,
            args: Packed::new((geometry.threads, args)),
            threads: geometry.threads,
            single: B::SINGLE,
            kernel: self.kernel,
        };
        // SAFETY: `run::<B>` reads what was packed here. All memory in the arguments was compared with this stream, is
        // borrowed or owned by this call, and is freed in stream order, so it is valid, and used by nobody else, when
        // the stream comes to this operation. The device gives each index to one call.
        unsafe { self.check.ctx.stream().launch(launch) }
    }
}

#[cold]
#[inline(never)]
fn unmet(kernel: &'static str, condition: &'static str, found: &[(&'static str, &dyn fmt::Debug)]) -> Error {
    let found = match found {
        [] => "it does not hold".to_owned(),
        found => {
            let found: Vec<_> = found.iter().map(|(what, value)| format!("`{what}` is {value:?}")).collect();
            found.join(" and ")
        }
    };
    Error::Requires(Box::new(Requirement { kernel, condition: condition.to_owned(), found }))
}

#[cold]
#[inline(never)]
fn uncovered(kernel: &'static str, covered: Geometry, name: &'static str, len: usize) -> Error {
    let condition = format!("a launch of {} threads cannot write all {len} elements of `{name}`", covered.threads);
    geometry(kernel, condition, &covered.launch)
}

/// A kernel of a set, as it must be in an image.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its place among those of the set.
    pub at: usize,
    /// Its name in the image.
    pub name: &'static str,
    /// Bytes of each parameter.
    pub sizes: &'static [usize],
}

/// Finds a kernel of a set, by the name of its declaration, for a question about blocks.
pub fn find(kernels: &[(&'static str, Option<usize>)], kernel: &'static str) -> Result<Option<usize>, Error> {
    kernels.iter().find(|(name, _)| *name == kernel).map(|(_, at)| *at).ok_or(Error::NoFunction { kernel })
}

/// The device code of a kernel set, which without a driver is none.
#[cfg(not(feature = "cuda"))]
#[derive(Clone, Copy, Debug)]
pub struct Functions;

#[cfg(not(feature = "cuda"))]
impl Functions {
    #[allow(missing_docs)]
    #[inline]
    pub fn load(_: &Device, _: Option<&'static str>, _: &[&'static str]) -> Result<Functions, Error> {
        Ok(Functions)
    }

    /// # Safety
    /// None; with a driver there is one.
    #[allow(missing_docs)]
    #[inline]
    pub unsafe fn load_image(_: &Device, _: &[u8], _: &[Entry]) -> Result<Functions, Error> {
        Ok(Functions)
    }

    #[allow(missing_docs)]
    pub fn max_blocks(
        &self,
        _: &Device,
        kernel: &'static str,
        _: Option<usize>,
        launch: &Launch,
    ) -> Result<Option<u32>, Error> {
        launch.threads(kernel).map(|_| None)
    }
}

/// A value as the driver takes it: its address.
#[inline]
pub fn param<T: Copy>(value: &T) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

/// Evaluates a condition of a declaration, of which a `return` leaves the condition only.
#[inline]
pub fn holds(condition: impl FnOnce() -> bool) -> bool {
    condition()
}

/// Evaluates a dimension of a declaration.
#[inline]
pub fn number<N: LaunchNumber>(value: impl FnOnce() -> N) -> u32 {
    value().clamp_to_u32()
}

/// What a caller passes for a launch.
#[inline]
pub fn launch(launch: impl Into<Launch>) -> Launch {
    launch.into()
}

/// One to three dimensions.
#[inline]
pub fn dim(dim: impl Into<Dim>) -> [u32; 3] {
    dim.into().0
}

mod number {
    pub trait Sealed {}
}

/// An integer in the launch of a declaration.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a size of a launch",
    label = "not an integer",
    note = "`grid`, `block`, `shared` and `max` take integers of any width"
)]
pub trait LaunchNumber: number::Sealed {
    /// The number; what a `u32` does not hold becomes its greatest value, which no device admits.
    fn clamp_to_u32(self) -> u32;
}

macro_rules! numbers {
    ($($ty:ident)+) => { $(
        impl number::Sealed for $ty {}
        impl LaunchNumber for $ty {
            #[inline]
            fn clamp_to_u32(self) -> u32 {
                u32::try_from(self).unwrap_or(u32::MAX)
            }
        }
    )+ };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

mod span_len_seal {
    #[diagnostic::on_unimplemented(
        message = "`SpanLen` is closed: only escrow implements it",
        label = "cannot be implemented outside of escrow"
    )]
    pub trait Sealed {}
    impl<T, S: crate::StreamTag> Sealed for crate::DeviceSpan<'_, T, S> {}
    impl<T, S: crate::StreamTag> Sealed for crate::PeerSpan<'_, T, S> {}
    impl<T, S: crate::StreamTag> Sealed for crate::DeviceSpanMut<'_, T, S> {}
    impl<T, S: crate::StreamTag> Sealed for crate::ShmemBuffer<'_, T, S> {}
    impl<T> Sealed for super::Arg<'_, T> {}
}

/// A span field of a passable struct: what `len_of` and `cover` take a length from.
///
/// ```
/// use escrow::{DevicePassable, DeviceSpan};
///
/// #[derive(DevicePassable)]
/// struct Params<'a> {
///     table: DeviceSpan<'a, f32>, // `SpanLen`
///     #[device(len_of(table))]
///     n: u32,
/// }
/// assert!(Params::C_DECL.contains("unsigned int n;"));
/// ```
///
/// ```compile_fail,E0277
/// # use escrow::DevicePassable;
/// #[derive(DevicePassable)]
/// struct Params {
///     weight: f32, // no span
///     #[device(len_of(weight))]
///     n: u32,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a span, so it has no length that a launch can go by",
    label = "not a span",
    note = "`len_of` and `cover` take a parameter of type `&[T]` or `&mut [T]`, or the path of a span field: `p.src`"
)]
pub trait SpanLen: span_len_seal::Sealed {
    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, SpanLen};
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let dev = ctx.enqueue_create_buffer_zeroed::<f32>(5)?;
    /// assert_eq!(dev.as_span().span_len(), 5);
    /// # Ok::<(), escrow::Error>(())
    /// ```
    #[allow(missing_docs)]
    fn span_len(&self) -> usize;
}

#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> SpanLen for DeviceSpan<'_, T, S> {
    fn span_len(&self) -> usize {
        self.len()
    }
}

#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> SpanLen for DeviceSpanMut<'_, T, S> {
    fn span_len(&self) -> usize {
        self.len()
    }
}

#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> SpanLen for PeerSpan<'_, T, S> {
    fn span_len(&self) -> usize {
        self.len()
    }
}

#[diagnostic::do_not_recommend]
impl<T, S: StreamTag> SpanLen for ShmemBuffer<'_, T, S> {
    fn span_len(&self) -> usize {
        self.len()
    }
}

#[diagnostic::do_not_recommend]
impl<T> SpanLen for Arg<'_, T> {
    fn span_len(&self) -> usize {
        self.len()
    }
}

/// Length of the span at a path.
#[inline]
pub fn span_len<T: SpanLen>(span: &T) -> usize {
    span.span_len()
}
