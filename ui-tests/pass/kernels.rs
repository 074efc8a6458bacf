//! Kernels: declared, given Rust bodies, and launched.

use escrow::{
    Bool8, Device, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, KernelSpanMut, Launch, Share,
    StreamTag, TrustedPtr,
};

escrow::streams! { Upload, Compute }

/// Spans of one stream.
#[derive(DevicePassable)]
struct Stencil<'a, S: StreamTag = Dyn> {
    src: DeviceSpan<'a, f32, S>,
    dst: DeviceSpanMut<'a, f32, S>,
}

#[escrow::kernels(struct Kernels)]
// SAFETY: the bodies stay inside of the elements of their share, or of slices, which are checked.
unsafe extern "kernel" {
    /// Works in place.
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);

    #[cpu(saxpy)]
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);

    /// Writes `out` as a whole.
    #[cpu(square)]
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn square(x: &[f32], #[out(each)] out: &mut [f32]);

    #[cpu(swap)]
    #[launch(cover(a))]
    #[requires(a.len() == b.len())]
    safe fn swap(a: &mut [f32], b: &mut [f32]);

    #[cpu(select)]
    #[launch(cover(data))]
    #[requires(mask.len() == data.len())]
    safe fn select(mask: &[Bool8], data: &mut [f32]);

    #[cpu(stencil)]
    #[launch(cover(p.dst))]
    #[requires(p.src.len() == p.dst.len())]
    safe fn stencil<S>(p: Stencil<'_, S>);

    /// On one thread, with slices.
    #[cpu(single sum)]
    #[launch(grid(1), block(1))]
    #[requires(total.len() == 1)]
    safe fn sum(data: &[f32], #[out(all)] total: &mut [f32]);

    /// The caller picks the launch, within bounds.
    #[cpu(scale)]
    #[launch(max(grid = 64, block = 256))]
    safe fn scale_some(factor: f32, data: &mut [f32]);

    /// # Safety
    /// `data` has `n` elements, ordered on the launching stream.
    #[cpu(scale_raw)]
    unsafe fn scale_raw(factor: f32, data: TrustedPtr<f32>, n: u32);
}

fn scale(share: &mut Share<'_>, factor: f32, data: KernelSpanMut<'_, f32>) {
    data.own(share).iter_mut().for_each(|x| *x *= factor);
}

fn saxpy(share: &mut Share<'_>, n: u32, a: f32, x: &[f32], y: KernelSpanMut<'_, f32>) {
    let range = share.range();
    assert!(range.end <= n as usize);
    y.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y += a * x);
}

fn square(share: &mut Share<'_>, x: &[f32], out: KernelSpanMut<'_, f32>) {
    let range = share.range();
    out.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y = x * x);
}

/// Two spans at a time.
fn swap(share: &mut Share<'_>, a: KernelSpanMut<'_, f32>, b: KernelSpanMut<'_, f32>) {
    let (a, b) = share.own2(a, b);
    a.swap_with_slice(b);
}

fn select(share: &mut Share<'_>, mask: &[Bool8], data: KernelSpanMut<'_, f32>) {
    let range = share.range();
    for (x, keep) in data.own(share).iter_mut().zip(&mask[range]) {
        if !keep.get() {
            *x = 0.0;
        }
    }
}

fn stencil(share: &mut Share<'_>, p: StencilBody<'_>) {
    let range = share.range();
    p.dst.own(share).copy_from_slice(&p.src[range]);
}

fn sum(data: &[f32], total: &mut [f32]) {
    total[0] = data.iter().sum();
}

unsafe fn scale_raw(share: &mut Share<'_>, factor: f32, data: TrustedPtr<f32>, n: u32) {
    for i in share.range().start..share.range().end.min(n as usize) {
        // SAFETY: the contract of the kernel; each index is one share's.
        unsafe { *data.as_ptr().add(i) *= factor };
    }
}

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let kernels = Kernels::load(ctx.device())?;

    // Host memory is copied to the device first.
    let host = ctx.create_host_buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?;
    let (mut x, host) = ctx.enqueue_create_buffer_from(host)?;
    drop(host);
    kernels.scale(&ctx, 2.0, &mut x)?;
    kernels.scale(&ctx, 0.5, &mut x.as_span_mut().slice(..2)?)?;
    assert_eq!(x.to_vec()?, [1.0, 2.0, 6.0, 8.0]);

    // `out` gives memory back as written; `&mut` of written memory is good too.
    let raw = ctx.enqueue_create_buffer::<f32>(4)?;
    let mut y = kernels.square(&ctx, &x, raw)?;
    kernels.square(&ctx, &x, &mut y)?;
    kernels.saxpy(&ctx, 1.0, &x, &mut y)?;
    assert_eq!(y.to_vec()?, [2.0, 6.0, 42.0, 72.0]);
    let total = kernels.sum(&ctx, &y, ctx.enqueue_create_buffer::<f32>(1)?)?;
    assert_eq!(total.to_vec()?, [122.0]);

    // Parts of one buffer that do not overlap.
    let (mut low, mut high) = y.as_span_mut().split_at(2)?;
    kernels.swap(&ctx, &mut low, &mut high)?;
    assert_eq!(y.to_vec()?, [42.0, 72.0, 2.0, 6.0]);
    let mask = ctx.create_host_buffer_from(&[true, false, true, false].map(Bool8::new))?;
    let (mask, _) = ctx.enqueue_create_buffer_from(mask)?;
    kernels.select(&ctx, &mask, &mut y)?;

    // Structs: by value, made again for each launch.
    let (src, dst) = (x.as_span(), &mut y);
    kernels.stencil(&ctx, Stencil { src, dst: dst.as_span_mut() })?;
    kernels.stencil(&ctx, Stencil { src, dst: dst.as_span_mut() })?;
    assert_eq!(y.to_vec()?, x.to_vec()?);

    // Shared memory is read; to write it, unshare it.
    let shared = x.into_shared()?;
    kernels.saxpy(&ctx, 1.0, &shared, &mut y)?;
    let mut x = shared.try_unshare()?;
    kernels.scale(&ctx, 2.0, &mut x)?;

    // Other streams: by handoff.
    let up = DeviceContext::tagged(Upload, ctx.device().clone())?;
    let compute = up.fork_tagged(Compute)?;
    let dev = up.enqueue_create_buffer_zeroed::<f32>(4)?;
    let mut dev = up.handoff(dev, &compute)?;
    kernels.scale(&compute, 2.0, &mut dev)?;
    let mut copy = compute.enqueue_create_buffer_zeroed::<f32>(4)?;
    kernels.stencil(&compute, Stencil { src: dev.as_span(), dst: copy.as_span_mut() })?;

    // Launches that the caller picks.
    kernels.scale_some(&ctx, (1, 4), 2.0, &mut x)?;
    // SAFETY: `x` has 4 elements and is used on this stream only.
    unsafe { kernels.scale_raw(&ctx, Launch::cover(4), 2.0, x.unsafe_ptr().trust(), 4) }?;
    assert_eq!(x.to_vec()?, [8.0, 16.0, 48.0, 64.0]);
    Ok(())
}
