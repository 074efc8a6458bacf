//! Kernels with a PTX file, which is read when this is compiled: names, and parameters in number, order, size and
//! alignment.

use escrow::{
    DType, Device, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, KernelSpanMut, Share,
    StreamTag,
};

#[repr(C, align(16))]
#[derive(Clone, Copy, DType)]
struct Color {
    rgba: [f32; 4],
}

#[derive(DevicePassable)]
struct Stencil<'a, S: StreamTag = Dyn> {
    src: DeviceSpan<'a, f32, S>,
    dst: DeviceSpanMut<'a, f32, S>,
    weight: f32,
    #[device(len_of(dst))]
    n: u32,
}

// A pointer to 16-byte vectors takes elements that are aligned to 16, wherever the span begins.
#[escrow::kernels(struct Vectors, ptx = "ptx/pointer.ptx")]
// SAFETY: the kernel does nothing.
unsafe extern "kernel" {
    #[launch(cover(y))]
    safe fn clear4(y: &mut [Color], #[len_of(y)] n: u64);
}

#[escrow::kernels(struct Kernels, ptx = "ptx/blas.ptx", target = "sm_80")]
// SAFETY: the kernels do nothing.
unsafe extern "kernel" {
    /// A length is a parameter of the kernel, at its place, and no argument of the call.
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);

    /// Without a Rust body: on the CPU device it is an error.
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);

    /// A C++ kernel without `extern "C"`.
    #[ptx("_Z5clampfPfj")]
    #[launch(cover(data))]
    safe fn clamp(limit: f32, data: &mut [f32], #[len_of(data)] n: u32);

    #[launch(cover(data))]
    safe fn tint(color: Color, data: &mut [Color], #[len_of(data)] n: u32);

    #[launch(cover(p.dst))]
    safe fn stencil<S>(p: Stencil<'_, S>);

    /// Runs on the CPU device only.
    #[ptx(none)]
    #[cpu(single clear)]
    #[launch(grid(1), block(1))]
    safe fn clear(data: &mut [f32]);
}

fn scale(share: &mut Share<'_>, factor: f32, data: KernelSpanMut<'_, f32>, n: u32) {
    assert_eq!(n as usize, share.threads());
    data.own(share).iter_mut().for_each(|x| *x *= factor);
}

fn clear(data: &mut [f32]) {
    data.fill(0.0);
}

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let kernels = Kernels::load(ctx.device())?;
    let mut data = ctx.enqueue_create_buffer::<f32>(4)?.enqueue_fill(2.0)?;
    kernels.scale(&ctx, 1.5, &mut data)?;
    assert_eq!(data.to_vec()?, [3.0; 4]);
    kernels.clear(&ctx, &mut data)?;
    let x = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
    assert!(matches!(kernels.saxpy(&ctx, 1.0, &x, &mut data), Err(Error::NoBody { kernel: "saxpy" })));
    let p = Stencil { src: x.as_span(), dst: data.as_span_mut(), weight: 1.0, n: 0 };
    assert!(kernels.stencil(&ctx, p).is_err());
    Ok(())
}
