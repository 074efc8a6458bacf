//! Kernels: typed launches, their arguments, and Rust bodies for the CPU device.
//!
//! `#[kernels]` (in `escrow-macros`) turns declarations into methods. What such a method does is in [`call`]: it admits
//! every operand, checks what the declaration demands, and enqueues once.

mod args;
mod body;
pub(crate) mod call;
mod launch;
mod passable;

pub use args::{DeviceRead, DeviceWrite, KernelOut};
pub use body::{KernelSpan, KernelSpanMut, Share};
pub use call::{ArgCheck, SpanLen};
/// Typed kernels, from declarations.
///
/// ```
/// use escrow::{Device, DeviceContext, KernelSpanMut, Share};
///
/// #[escrow::kernels(pub struct Blas)]
/// unsafe extern "kernel" {
///     /// `y = a * x + y`
///     #[cpu(saxpy)]
///     #[launch(cover(y))]
///     #[requires(x.len() == y.len())]
///     safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
/// }
///
/// // The body for the CPU device, called for a share of the threads at a time.
/// fn saxpy(share: &mut Share<'_>, _n: u32, a: f32, x: &[f32], y: KernelSpanMut<'_, f32>) {
///     let range = share.range();
///     for (y, x) in y.own(share).iter_mut().zip(&x[range]) {
///         *y += a * *x;
///     }
/// }
///
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let blas = Blas::load(ctx.device())?;
/// let mut x = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(8)?;
/// x.enqueue_fill(3.0)?;
/// blas.saxpy(&ctx, 2.0, &x, &mut y)?; // does not block; `n` is filled in
/// assert_eq!(y.to_vec()?, [6.0; 8]);
/// assert!(blas.saxpy(&ctx, 2.0, &x.as_span().slice(1..)?, &mut y).is_err());
/// # Ok(()) }
/// ```
///
/// With `ptx = "file"` behind the struct the same kernels run on a GPU. The file is read when the crate is compiled; its path
/// starts at the folder of the crate's `Cargo.toml`:
///
/// ```
/// #[escrow::kernels(pub struct Blas, ptx = "../examples/kernels/blas.ptx", target = "sm_70")]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     #[requires(x.len() == y.len())]
///     safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);
/// }
/// ```
///
/// The attribute makes `struct Blas` with `Blas::load(&device)`, `device()`, `max_blocks(..)` and a method for each kernel. A method takes
/// the context, then the parameters. It compares the device and the stream of every operand, then looks at what the
/// declaration demands, and enqueues once; after an error nothing was enqueued. With `crate = path` behind the struct
/// the crate `escrow` can have another name.
///
/// # What a declaration promises
/// The block is `unsafe` because nobody checks what a kernel does. `safe fn` promises that for every launch that the
/// declaration admits, all accesses stay inside of the spans passed and no two threads race, and that what `out` says
/// holds. What cannot be promised is an `unsafe fn`; then the caller answers for the launch.
///
/// # Parameters
/// | declared | passed | the Rust body gets |
/// |---|---|---|
/// | `x: &[T]` | `&` of a `DeviceBuffer`, `SharedDeviceBuffer` or span | `&[T]` |
/// | `y: &mut [T]` | `&mut` of a `DeviceBuffer` or `DeviceSpanMut` | `KernelSpanMut<'_, T>`, or `&mut [T]` if `single` |
/// | `#[out(each)] y: &mut [T]` | by value: `DeviceBuffer<MaybeUninit<T>>`, which comes back as `DeviceBuffer<T>`; `&mut DeviceBuffer<T>`; `DeviceSpanMut` | the same |
/// | `#[len_of(y)] n: u32` | nothing: it is filled in | the number |
/// | `p: P`, anything else | `DevicePassable` by value | a number itself, `NameBody<'_>` for a struct `Name` |
///
/// `#[out(each)]` says that thread `i` writes element `i`, so a launch with fewer threads than elements is
/// `Error::Geometry`. `#[out(all)]` promises that every launch that the declaration admits
/// writes all elements.
/// Several `out` arguments come back as a tuple, and on failure as they were, in the `Fault`. A struct
/// of spans names the launching stream: `safe fn f<S>(p: Params<'_, S>)`. `len_of`, `cover` and `requires` see into it:
/// `p.src`, `p.src.len()`.
///
/// # PTX
/// The compiler refuses a kernel that is not in the file, one with another number of parameters than the `.param` list there,
/// a parameter of another size, of a larger alignment, or a number where the file has one of another kind, and
/// with `target = "sm_80"` a file that is for newer GPUs. All that holds with and without the feature `cuda`. A span is one
/// 64-bit pointer there, null if it has no elements, and refused if `.ptr .align` asks for more than the element's; a `len_of` parameter is one of its own, at its place in the list; a
/// struct has the layout that its `C_DECL` says. `load` has the driver compile the file once for each GPU. A launch that
/// covers a span starts whole blocks of 256 threads, so such a kernel begins with `if (i >= n) return;`.
///
/// # Images
/// A set with `ptx` has `unsafe fn load_image(&device, bytes)` beside `load`: other device code for the same declarations,
/// PTX text, a cubin or a fatbin, which the program reads or makes when it runs. Names, number and sizes of parameters are
/// compared then. With `image` in place of `ptx` there is no file, so `load` has bodies for the CPU device only:
///
/// ```
/// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
/// #[escrow::kernels(struct Blas, image)]
/// unsafe extern "kernel" {
///     #[cpu(twice)]
///     #[launch(cover(y))]
///     safe fn twice(#[len_of(y)] n: u32, y: &mut [f32]);
/// }
/// # fn twice(share: &mut Share<'_>, _n: u32, y: KernelSpanMut<'_, f32>) {
/// #     y.own(share).iter_mut().for_each(|y| *y *= 2.0);
/// # }
/// # fn jit() -> String { String::new() }
///
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
/// // SAFETY: `jit` writes what is declared above.
/// let blas = unsafe { Blas::load_image(ctx.device(), jit().as_bytes()) }?;
/// blas.twice(&ctx, &mut y)?;
/// # Ok(()) }
/// ```
///
/// # Occupancy
/// `max_blocks` says how many blocks of a kernel the whole GPU runs at the same time, `None` on the CPU device. No
/// cooperative launch has more, and a kernel that strides over its elements needs no more:
///
/// ```
/// # use escrow::{Device, DeviceContext, Error, Launch};
/// #[escrow::kernels(struct Set)]
/// unsafe extern "kernel" {
///     #[cpu(single sum)]
///     #[launch(max(grid = 1 << 20, block = 256))]
///     #[requires(out.len() == 1)]
///     safe fn sum(x: &[u64], out: &mut [u64]);
/// }
/// # fn sum(x: &[u64], out: &mut [u64]) { out[0] += x.iter().sum::<u64>(); }
///
/// # fn main() -> Result<(), escrow::Error> {
/// let ctx = DeviceContext::new(Device::cpu())?;
/// let x = ctx.enqueue_create_buffer::<u64>(1000)?.enqueue_fill(2)?;
/// let mut out = ctx.enqueue_create_buffer_zeroed::<u64>(1)?;
/// let set = Set::load(ctx.device())?;
/// let blocks = set.max_blocks("sum", 256, 0)?.unwrap_or(4); // `None` here
/// set.sum(&ctx, Launch::new(blocks, 256).cooperative(), &x, &mut out)?;
/// assert_eq!(out.to_vec()?, [2000]);
/// assert!(matches!(set.max_blocks("some", 256, 0), Err(Error::NoFunction { kernel: "some" })));
/// # Ok(()) }
/// ```
///
/// # Attributes of a kernel
/// - `#[ptx("name")]`: its name in the PTX file, as C++ mangles it, if it is another one. `#[ptx(none)]`: it is not
///   there, so on a GPU it is `Error::NoBody`.
/// - `#[cpu(path)]`: the Rust body for the CPU device. It is called with a `Share` and the parameters, on several threads. With
///   `#[cpu(single path)]` it is called once, without a share, and spans that it writes are `&mut [T]`. On the CPU device
///   a kernel without a body is `Error::NoBody`. The body may be an `unsafe fn`: what it asks
///   for is part of the promise.
/// - `#[requires(condition)]`: else the call is `Error::Requires`.
/// - `#[launch(cover(y))]`: one thread for each element of `y`, in blocks of 256.
/// - `#[launch(grid(..), block(..), shared(..))]`: computed from the parameters, in one to three dimensions.
/// - `#[launch(max(grid = .., block = .., shared = ..))]`: the method takes a `Launch` behind the context, which must
///   not exceed these in any dimension; `grid = (a, b)` admits two dimensions. It may be cooperative, and in clusters.
/// - None, for an `unsafe fn` only: the method takes any `Launch`.
///
/// Calls are checked against the declaration, and bodies too:
///
/// ```compile_fail,E0308
/// # use escrow::{DeviceBuffer, DeviceContext, Error};
/// #[escrow::kernels(struct Blas)]
/// unsafe extern "kernel" {
///     #[launch(cover(y))]
///     safe fn scale(a: f32, y: &mut [f32]);
/// }
/// fn user(blas: &Blas, ctx: &DeviceContext, y: &mut DeviceBuffer<f32>) -> Result<(), Error> {
///     blas.scale(ctx, 2, y) // `2.0`
/// }
/// ```
///
/// ```compile_fail,E0521
/// # use escrow::{KernelSpanMut, Share};
/// #[escrow::kernels(struct Leaky)]
/// unsafe extern "kernel" {
///     #[cpu(keep)]
///     #[launch(cover(y))]
///     safe fn keep(x: &[f32], y: &mut [f32]);
/// }
/// fn keep(_: &mut Share<'_>, x: &'static [f32], _: KernelSpanMut<'_, f32>) {} // device memory is not for keeps
/// ```
pub use escrow_macros::kernels;
#[cfg(feature = "cuda")]
pub(crate) use launch::geometry as wrong_geometry;
pub use launch::{Dim, Launch};
pub use passable::{DeviceLayout, DevicePassable, KernelLen};
