//! What the Rust body of a kernel works with.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::{ptr, slice};

/// A share of a launch's threads: what one call of a Rust kernel body has to do.
///
/// The CPU device cuts the threads of a launch into contiguous shares and calls the body once for each, possibly on
/// several threads at a time. A share is also the proof that its elements are this call's alone: with it
/// [`KernelSpanMut::own`] is safe. Only the device makes one, and it stays on its thread.
///
/// ```
/// use escrow::{KernelSpanMut, Share};
///
/// fn saxpy(share: &mut Share<'_>, n: u32, a: f32, x: &[f32], y: KernelSpanMut<'_, f32>) {
///     let range = share.range();
///     assert!(range.end <= n as usize);
///     for (y, x) in y.own(share).iter_mut().zip(&x[range]) {
///         *y += a * *x;
///     }
/// }
/// # let _ = saxpy;
/// ```
///
/// It cannot go to another thread:
///
/// ```compile_fail,E0277
/// fn body(share: &mut escrow::Share<'_>) {
///     std::thread::scope(|s| { s.spawn(|| share.range()); });
/// }
/// ```
pub struct Share<'k> {
    range: Range<usize>,
    threads: usize,
    /// Not `Send`, not `Sync`.
    stays: PhantomData<(&'k mut (), dyn StaysOnTheThreadItWasGivenTo)>,
}

/// Says in messages why a share is neither `Send` nor `Sync`.
trait StaysOnTheThreadItWasGivenTo {}

impl Share<'_> {
    /// # Safety
    /// This is the only share of its launch with any of these indices, it is given to the launch's body only, and it is
    /// gone when the body returns.
    pub(crate) unsafe fn new(range: Range<usize>, threads: usize) -> Self {
        Share { range, threads, stays: PhantomData }
    }

    /// The linear indices of this share's threads.
    ///
    /// Threads are numbered along x, then y, then z within a block, and block by block in the same order. In a launch
    /// that covers a span there are as many as it has elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(iota)] #[launch(cover(y))] safe fn iota(y: &mut [u32]); }
    /// fn iota(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     let range = share.range();
    ///     for (y, i) in y.own(share).iter_mut().zip(range) {
    ///         *y = i as u32;
    ///     }
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// Set::load(ctx.device())?.iota(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [0, 1, 2, 3]);
    /// # Ok(()) }
    /// ```
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Threads of the whole launch.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(count)] #[launch(cover(y))] safe fn count(y: &mut [u32]); }
    /// fn count(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     let all = share.threads() as u32; // not `share.range().len()`, this call's part of them
    ///     y.own(share).fill(all);
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// Set::load(ctx.device())?.count(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [4; 4]);
    /// # Ok(()) }
    /// ```
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The elements of two spans that belong to this share, as [`KernelSpanMut::own`] gives those of one.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(swap)] #[launch(cover(a))] safe fn swap(a: &mut [u32], b: &mut [u32]); }
    /// fn swap(share: &mut Share<'_>, a: KernelSpanMut<'_, u32>, b: KernelSpanMut<'_, u32>) {
    ///     let (a, b) = share.own2(a, b);
    ///     a.swap_with_slice(b);
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut a = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// # let mut b = ctx.enqueue_create_buffer::<u32>(4)?.enqueue_fill(1)?;
    /// Set::load(ctx.device())?.swap(&ctx, &mut a, &mut b)?;
    /// assert_eq!((a.to_vec()?, b.to_vec()?), (vec![1; 4], vec![0; 4]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    /// If these elements overlap: a span and its copy, say.
    pub fn own2<'s, 'a: 's, 'b: 's, A, B>(
        &'s mut self,
        a: KernelSpanMut<'a, A>,
        b: KernelSpanMut<'b, B>,
    ) -> (&'s mut [A], &'s mut [B]) {
        let (a, b) = (a.clamp(&self.range), b.clamp(&self.range));
        assert!(a.is_apart_from(b), "two of the spans share memory");
        // SAFETY: as in `own`, the elements are this share's, whose borrow both slices hold; and the two are apart.
        unsafe { (a.as_mut_slice(), b.as_mut_slice()) }
    }

    /// The elements of three spans that belong to this share, as [`KernelSpanMut::own`] gives those of one.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" {
    /// #     #[cpu(split)] #[launch(cover(a))] safe fn split(a: &mut [u32], b: &mut [u32], c: &mut [u32]);
    /// # }
    /// type Span<'k> = KernelSpanMut<'k, u32>;
    /// fn split(share: &mut Share<'_>, a: Span<'_>, b: Span<'_>, c: Span<'_>) {
    ///     let (a, b, c) = share.own3(a, b, c);
    ///     for ((a, b), c) in a.iter().zip(b).zip(c) {
    ///         (*b, *c) = (a / 10, a % 10);
    ///     }
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut a = ctx.enqueue_create_buffer::<u32>(2)?.enqueue_fill(42)?;
    /// # let mut b = ctx.enqueue_create_buffer_zeroed::<u32>(2)?;
    /// # let mut c = ctx.enqueue_create_buffer_zeroed::<u32>(2)?;
    /// Set::load(ctx.device())?.split(&ctx, &mut a, &mut b, &mut c)?;
    /// assert_eq!((b.to_vec()?, c.to_vec()?), (vec![4; 2], vec![2; 2]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    /// If any two of them overlap.
    pub fn own3<'s, 'a: 's, 'b: 's, 'c: 's, A, B, C>(
        &'s mut self,
        a: KernelSpanMut<'a, A>,
        b: KernelSpanMut<'b, B>,
        c: KernelSpanMut<'c, C>,
    ) -> (&'s mut [A], &'s mut [B], &'s mut [C]) {
        let (a, b, c) = (a.clamp(&self.range), b.clamp(&self.range), c.clamp(&self.range));
        assert!(a.is_apart_from(b) && b.is_apart_from(c) && c.is_apart_from(a), "two of the spans share memory");
        // SAFETY: as in `own2`.
        unsafe { (a.as_mut_slice(), b.as_mut_slice(), c.as_mut_slice()) }
    }
}

impl fmt::Debug for Share<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({:?} of {})", self.range, self.threads)
    }
}

/// Device memory that a Rust kernel body reads: the field of a passable struct where the host has a
/// [`DeviceSpan`](crate::DeviceSpan). It is a slice.
///
/// (A parameter `x: &[T]` arrives as `&[T]`.)
///
/// ```
/// # use escrow::{Device, DeviceContext, DevicePassable, DeviceSpan, KernelSpanMut, Share};
/// # #[escrow::kernels(struct Set)]
/// # unsafe extern "kernel" {
/// #     #[cpu(add)] #[launch(cover(y))] #[requires(p.table.len() == y.len())]
/// #     safe fn add(p: Params<'_>, y: &mut [u32]);
/// # }
/// // The derive makes `ParamsBody<'k>`, with `table: KernelSpan<'k, u32>`.
/// #[derive(DevicePassable)]
/// struct Params<'a> { table: DeviceSpan<'a, u32>, bias: u32 }
///
/// fn add(share: &mut Share<'_>, p: ParamsBody<'_>, y: KernelSpanMut<'_, u32>) {
///     let range = share.range();
///     for (y, x) in y.own(share).iter_mut().zip(&p.table[range]) {
///         *y = x + p.bias;
///     }
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let table = ctx.enqueue_create_buffer::<u32>(4)?.enqueue_fill(2)?;
/// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
/// Set::load(ctx.device())?.add(&ctx, Params { table: table.as_span(), bias: 1 }, &mut y)?;
/// assert_eq!(y.to_vec()?, [3; 4]);
/// # Ok(()) }
/// ```
///
/// ```compile_fail,E0594
/// fn body(table: escrow::KernelSpan<'_, u32>) {
///     table[0] = 1; // a kernel that writes it has a `DeviceSpanMut` there
/// }
/// ```
pub struct KernelSpan<'k, T> {
    ptr: *const T,
    len: usize,
    memory: PhantomData<&'k [T]>,
}

impl<'k, T> KernelSpan<'k, T> {
    /// Makes no reference yet: the value is made when the launch is enqueued, and earlier operations may still be
    /// writing then.
    ///
    /// # Safety
    /// Whenever the result is used as a slice, `ptr` is valid for reads of `len` elements, which nobody writes during
    /// `'k`. If there are elements, it is aligned.
    pub(crate) unsafe fn new(ptr: *const T, len: usize) -> Self {
        // A view of no bytes may lie at an address that is not aligned for `T`; a slice must be.
        let ptr = if len == 0 { ptr::dangling() } else { ptr };
        KernelSpan { ptr, len, memory: PhantomData }
    }

    /// The elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpan};
    /// // The slice lives as long as the launch's memory, not only as long as this value.
    /// fn half<'k>(table: KernelSpan<'k, u32>) -> &'k [u32] {
    ///     &table.as_slice()[..table.len() / 2]
    /// }
    /// # use escrow::{DeviceLayout};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let dev = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// # ctx.synchronize(())?;
    /// # // SAFETY: on the CPU device the memory is ordinary; nobody writes it.
    /// # let table = unsafe { dev.as_span().to_body() };
    /// assert_eq!(half(table), [0, 0]);
    /// # Ok(()) }
    /// ```
    pub fn as_slice(self) -> &'k [T] {
        // SAFETY: the contract of `new`.
        unsafe { slice::from_raw_parts(self.ptr, self.len) }
    }
}

impl<T> Deref for KernelSpan<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T> Clone for KernelSpan<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for KernelSpan<'_, T> {}

impl<T> fmt::Debug for KernelSpan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelSpan<{}>(len: {})", std::any::type_name::<T>(), self.len)
    }
}

// SAFETY: it is used as `&[T]`.
unsafe impl<T: Sync> Send for KernelSpan<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for KernelSpan<'_, T> {}

/// Device memory that a Rust kernel body writes, while other threads run the same body for other shares.
///
/// [`own`](KernelSpanMut::own) gives the elements of the body's own share as a slice. All other access is `unsafe`,
/// reading too: another thread may be writing there. It is `Copy`, and no slice by itself:
///
/// ```compile_fail,E0608
/// fn body(y: escrow::KernelSpanMut<'_, f32>) {
///     y[0] = 1.0; // every thread of the launch would write it
/// }
/// ```
///
/// A share's elements are lent once at a time:
///
/// ```compile_fail,E0499
/// fn body(share: &mut escrow::Share<'_>, y: escrow::KernelSpanMut<'_, f32>) {
///     let a = y.own(share);
///     let b = y.own(share);
///     a[0] = b[0];
/// }
/// ```
///
/// ```
/// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
/// # #[escrow::kernels(struct Set)]
/// # unsafe extern "kernel" { #[cpu(double)] #[launch(cover(y))] safe fn double(y: &mut [u32]); }
/// fn double(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
///     for y in y.own(share) {
///         *y *= 2;
///     }
/// }
/// # fn main() -> Result<(), escrow::Error> {
/// # let ctx = DeviceContext::new(Device::cpu())?;
/// # let mut y = ctx.enqueue_create_buffer::<u32>(4)?.enqueue_fill(3)?;
/// Set::load(ctx.device())?.double(&ctx, &mut y)?;
/// assert_eq!(y.to_vec()?, [6; 4]);
/// # Ok(()) }
/// ```
pub struct KernelSpanMut<'k, T> {
    ptr: *mut T,
    len: usize,
    memory: PhantomData<&'k mut [T]>,
}

impl<'k, T> KernelSpanMut<'k, T> {
    /// # Safety
    /// Whenever an element is accessed, `ptr` is valid for reads and writes of `len` initialised elements, which nobody
    /// but the body that gets the span uses during `'k`. If there are elements, it is aligned.
    pub(crate) unsafe fn new(ptr: *mut T, len: usize) -> Self {
        let ptr = if len == 0 { ptr::dangling_mut() } else { ptr };
        KernelSpanMut { ptr, len, memory: PhantomData }
    }

    /// Number of elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(lens)] #[launch(cover(y))] safe fn lens(y: &mut [u32]); }
    /// fn lens(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     let all = y.len() as u32; // of the whole span, not of this call's part
    ///     y.own(share).fill(all);
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// Set::load(ctx.device())?.lens(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [4; 4]);
    /// # Ok(()) }
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(or)] #[launch(cover(y))] safe fn or(y: &mut [u32], other: &mut [u32]); }
    /// fn or(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>, other: KernelSpanMut<'_, u32>) {
    ///     let value = if other.is_empty() { 1 } else { 2 };
    ///     y.own(share).fill(value);
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// # let mut none = ctx.enqueue_create_buffer_zeroed::<u32>(0)?;
    /// Set::load(ctx.device())?.or(&ctx, &mut y, &mut none)?;
    /// assert_eq!(y.to_vec()?, [1; 4]);
    /// # Ok(()) }
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements whose indices are in the share's [`range`](Share::range), as far as the span reaches. For two or
    /// three spans at a time there are [`Share::own2`] and [`Share::own3`].
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(ones)] #[launch(grid(1), block(8))] safe fn ones(y: &mut [u32]); }
    /// fn ones(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     y.own(share).fill(1); // 8 threads, 5 elements: no index is out of bounds
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
    /// Set::load(ctx.device())?.ones(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [1; 5]);
    /// # Ok(()) }
    /// ```
    pub fn own<'s>(self, share: &'s mut Share<'_>) -> &'s mut [T]
    where
        'k: 's,
    {
        // SAFETY: no two live `&mut` from here reach one element:
        // - The slice holds the mutable borrow of the share, so there is one at a time for each share.
        // - Every share that exists together with this span is of the same launch, or its body could not have both. A
        //   body is called with one share, and it is generic over the lifetime of its span arguments, so that these
        //   cannot go where another launch finds them: no static, no thread but scoped ones. A share cannot be made,
        //   cloned or sent, so swapping needs two of them in one body, and scoped threads have none.
        // - Shares of one launch have no index in common (`Share::new`), so their elements are different ones.
        // - Spans with the same elements are copies of this one, with the same base: each mutable argument of a launch
        //   is borrowed mutably by the call, so different arguments do not overlap each other, nor a slice that is read.
        unsafe { self.clamp(&share.range).as_mut_slice() }
    }

    /// Reads element `i`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(add)] #[launch(cover(y))] safe fn add(y: &mut [u32]); }
    /// fn add(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     for i in share.range() {
    ///         // SAFETY: the launch covers `y`, so `i < len`, and element `i` is thread `i`'s alone.
    ///         unsafe { y.set(i, y.get(i) + 1) };
    ///     }
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// Set::load(ctx.device())?.add(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [1; 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// `i < len`, no other thread writes the element during the launch, and no slice from [`own`](KernelSpanMut::own)
    /// with it is in use.
    pub unsafe fn get(self, i: usize) -> T
    where
        T: Copy,
    {
        debug_assert!(i < self.len);
        // SAFETY: `i < len`, and no access conflicts: this function's contract, on the memory of `new`'s.
        unsafe { self.ptr.add(i).read() }
    }

    /// Writes element `i`.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" {
    /// #     #[cpu(reverse)] #[launch(cover(y))] #[requires(x.len() == y.len())]
    /// #     safe fn reverse(x: &[u32], y: &mut [u32]);
    /// # }
    /// fn reverse(share: &mut Share<'_>, x: &[u32], y: KernelSpanMut<'_, u32>) {
    ///     for i in share.range() {
    ///         // SAFETY: `i < len`, and each element has one thread that writes it; none reads.
    ///         unsafe { y.set(y.len() - 1 - i, x[i]) };
    ///     }
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// # let x = ctx.enqueue_create_buffer::<u32>(4)?.copy_from_slice(&[1, 2, 3, 4])?;
    /// Set::load(ctx.device())?.reverse(&ctx, &x, &mut y)?;
    /// assert_eq!(y.to_vec()?, [4, 3, 2, 1]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// `i < len`, no other thread accesses the element during the launch, and no slice from
    /// [`own`](KernelSpanMut::own) with it is in use.
    pub unsafe fn set(self, i: usize, value: T)
    where
        T: Copy,
    {
        debug_assert!(i < self.len);
        // SAFETY: as in `get`.
        unsafe { self.ptr.add(i).write(value) }
    }

    /// The address of the first element.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(even)] #[launch(grid(y.len() / 2), block(1))] safe fn even(y: &mut [u32]); }
    /// fn even(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     for i in share.range() {
    ///         // SAFETY: there are `len / 2` threads, and element `2 * i` is thread `i`'s alone.
    ///         unsafe { y.as_mut_ptr().add(2 * i).write(9) };
    ///     }
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
    /// Set::load(ctx.device())?.even(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [9, 0, 9, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// Accesses through the pointer follow the rules of [`get`](KernelSpanMut::get) and [`set`](KernelSpanMut::set).
    pub unsafe fn as_mut_ptr(self) -> *mut T {
        self.ptr
    }

    /// All elements.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, KernelSpanMut, Share};
    /// # #[escrow::kernels(struct Set)]
    /// # unsafe extern "kernel" { #[cpu(scan)] #[launch(grid(1), block(1))] safe fn scan(y: &mut [u32]); }
    /// fn scan(_: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    ///     // SAFETY: the declaration computes a launch of one thread, and this is the only slice.
    ///     let y = unsafe { y.as_mut_slice() };
    ///     for i in 1..y.len() {
    ///         y[i] += y[i - 1];
    ///     }
    /// }
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// # let mut y = ctx.enqueue_create_buffer::<u32>(4)?.enqueue_fill(1)?;
    /// Set::load(ctx.device())?.scan(&ctx, &mut y)?;
    /// assert_eq!(y.to_vec()?, [1, 2, 3, 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// While the slice is in use nobody accesses the elements otherwise: the kernel is declared `single`, or has one
    /// thread, and no other slice of them is in use.
    pub unsafe fn as_mut_slice<'s>(self) -> &'s mut [T]
    where
        'k: 's,
    {
        // SAFETY: `new`'s contract and this function's.
        unsafe { slice::from_raw_parts_mut(self.ptr, self.len) }
    }

    /// The part in `range`.
    fn clamp(self, range: &Range<usize>) -> Self {
        let start = range.start.min(self.len);
        let end = range.end.clamp(start, self.len);
        // `start <= len`, so the address is in the span or one past its end.
        KernelSpanMut { ptr: self.ptr.wrapping_add(start), len: end - start, memory: PhantomData }
    }

    /// Whether the two have no byte in common.
    fn is_apart_from<U>(self, other: KernelSpanMut<'_, U>) -> bool {
        let bytes = |start: usize, bytes: usize| (start, start + bytes);
        let (a, a_end) = bytes(self.ptr.addr(), self.len * size_of::<T>());
        let (b, b_end) = bytes(other.ptr.addr(), other.len * size_of::<U>());
        a == a_end || b == b_end || a_end <= b || b_end <= a
    }
}

impl<T> Clone for KernelSpanMut<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for KernelSpanMut<'_, T> {}

impl<T> fmt::Debug for KernelSpanMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelSpanMut<{}>(len: {})", std::any::type_name::<T>(), self.len)
    }
}

// SAFETY: elements are reached with a share, which stays on its thread, or in `unsafe`; they may be written from the
// thread that the span went to.
unsafe impl<T: Send> Send for KernelSpanMut<'_, T> {}
// SAFETY: as above; `&KernelSpanMut` is as good as a copy.
unsafe impl<T: Send> Sync for KernelSpanMut<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share and a span of the same `memory`.
    fn with(memory: &mut [u32], range: Range<usize>, body: impl FnOnce(&mut Share<'_>, KernelSpanMut<'_, u32>)) {
        // SAFETY: the only share, and it ends here; the span borrows `memory`, which nobody else uses.
        let (mut share, span) =
            unsafe { (Share::new(range, 100), KernelSpanMut::new(memory.as_mut_ptr(), memory.len())) };
        body(&mut share, span);
    }

    #[test]
    fn own_is_the_range_within_the_span() {
        let mut memory = [0; 5];
        for (range, owned) in [(0..3, 0..3), (3..9, 3..5), (5..9, 5..5), (7..9, 5..5), (2..2, 2..2)] {
            with(&mut memory, range, |share, span| {
                let start = span.own(share).as_ptr().addr();
                // SAFETY: the address alone is looked at.
                let base = unsafe { span.as_mut_ptr() }.addr();
                assert_eq!(span.own(share).len(), owned.len());
                assert_eq!((start - base) / 4, owned.start);
            });
        }
    }

    #[test]
    fn two_spans_at_a_time() {
        let (mut a, mut b) = ([1, 2, 3], [10u64, 20]);
        // SAFETY: nobody else uses `b`.
        let other = unsafe { KernelSpanMut::new(b.as_mut_ptr(), 2) };
        with(&mut a, 1..3, |share, span| {
            let (x, y) = share.own2(span, other);
            x[0] = 7;
            y[0] = 70;
        });
        assert_eq!((a, b), ([1, 7, 3], [10, 70]));
    }

    #[test]
    #[should_panic(expected = "share memory")]
    fn a_span_and_its_copy_are_refused() {
        with(&mut [0; 4], 0..4, |share, span| {
            share.own2(span, span);
        });
    }

    #[test]
    fn empty_spans_are_aligned() {
        // SAFETY: no elements.
        let span = unsafe { KernelSpan::<u64>::new(ptr::without_provenance(3), 0) };
        assert!(span.is_empty());
    }
}
