//! Kernels with device code: the same results from their PTX on a GPU as from their Rust bodies on the CPU device.

#![deny(warnings)]

use escrow::{DType, Device, DeviceContext, DevicePassable, Error, KernelSpanMut, Launch, Share};

/// As `float4`.
#[repr(C, align(16))]
#[derive(Clone, Copy, DType, Debug, PartialEq)]
pub struct Color {
    rgba: [f32; 4],
}

/// Has a gap, since the colour is aligned.
#[derive(Clone, Copy, Debug, DevicePassable)]
pub struct Tint {
    weight: f32,
    color: Color,
}

/// More than 128 bytes.
#[derive(Clone, Copy, Debug, DevicePassable)]
pub struct Large {
    values: [f64; 32],
}

#[escrow::kernels(pub struct Kernels, ptx = "tests/kernels/params.ptx", target = "sm_70")]
// SAFETY: the bodies index slices, and the PTX stays inside of the lengths that it is passed. Thread `i` writes element
// `i`, or one thread writes what it reads.
unsafe extern "kernel" {
    #[cpu(single numbers)]
    #[launch(grid(1), block(1))]
    #[requires(out.len() == 6)]
    safe fn numbers(a: u8, b: i16, c: u32, d: i64, e: f32, f: f64, #[out(all)] out: &mut [f64]);

    #[cpu(tint)]
    #[launch(cover(data))]
    safe fn tint(by: Tint, #[out(each)] data: &mut [Color], #[len_of(data)] n: u32);

    #[cpu(large)]
    #[ptx("_Z5largefP")]
    #[launch(cover(y))]
    safe fn large(p: Large, #[out(each)] y: &mut [f64], #[len_of(y)] n: u32);

    #[cpu(single is_null)]
    #[launch(grid(1), block(1))]
    #[requires(out.len() == 1)]
    safe fn is_null(x: &[f32], #[out(all)] out: &mut [u32]);

    #[cpu(single tile)]
    #[launch(grid(w.div_ceil(16), h.div_ceil(4)), block(16, 4))]
    #[requires(w as usize * h as usize == img.len())]
    safe fn tile(w: u32, h: u32, #[out(all)] img: &mut [u32]);

    /// # Safety
    /// One thread for each element, and four bytes of shared memory for each thread of a block.
    unsafe fn reverse(data: &mut [u32]);

    #[ptx(none)]
    #[cpu(single nothing)]
    #[launch(cover(data))]
    safe fn on_the_cpu_only(data: &mut [u32]);
}

fn numbers(a: u8, b: i16, c: u32, d: i64, e: f32, f: f64, out: &mut [f64]) {
    out.copy_from_slice(&[a.into(), b.into(), c.into(), d as f64, e.into(), f]);
}

fn tint(share: &mut Share<'_>, by: TintBody<'_>, data: KernelSpanMut<'_, Color>, _n: u32) {
    data.own(share).fill(Color { rgba: by.color.rgba.map(|x| x * by.weight) });
}

fn large(share: &mut Share<'_>, p: LargeBody<'_>, y: KernelSpanMut<'_, f64>, _n: u32) {
    let range = share.range();
    y.own(share).iter_mut().zip(range).for_each(|(y, i)| *y = p.values[i % 32]);
}

fn is_null(x: &[f32], out: &mut [u32]) {
    out[0] = x.is_empty().into();
}

fn tile(w: u32, _h: u32, img: &mut [u32]) {
    img.iter_mut().zip(0..).for_each(|(pixel, i)| *pixel = i / w * 1000 + i % w);
}

fn nothing(_: &mut [u32]) {}

fn devices() -> Vec<Device> {
    #[cfg(feature = "cuda")]
    return [Device::cpu()].into_iter().chain(escrow_tests::gpu()).collect();
    #[cfg(not(feature = "cuda"))]
    vec![Device::cpu()]
}

/// Runs a test on each device.
fn on_each(test: impl Fn(&DeviceContext, &Kernels) -> Result<(), Error>) -> Result<(), Error> {
    devices().into_iter().try_for_each(|device| {
        let ctx = DeviceContext::new(device)?;
        test(&ctx, &Kernels::load(ctx.device())?)
    })
}

#[test]
fn numbers_of_every_size() -> Result<(), Error> {
    on_each(|ctx, k| {
        let out = ctx.enqueue_create_buffer::<f64>(6)?;
        let out = k.numbers(ctx, 200, -300, 4_000_000_000, -5_000_000_000, 0.1, 0.2, out)?;
        assert_eq!(out.to_vec()?, [200.0, -300.0, 4e9, -5e9, f64::from(0.1f32), 0.2]);
        Ok(())
    })
}

#[test]
fn structs_by_value() -> Result<(), Error> {
    on_each(|ctx, k| {
        let tint = Tint { weight: 0.5, color: Color { rgba: [2.0, 4.0, 6.0, 8.0] } };
        let data = k.tint(ctx, tint, ctx.enqueue_create_buffer::<Color>(300)?)?;
        assert_eq!(data.to_vec()?, [Color { rgba: [1.0, 2.0, 3.0, 4.0] }; 300]);
        let values = std::array::from_fn(|i| i as f64 * 1.5);
        let y = k.large(ctx, Large { values }, ctx.enqueue_create_buffer::<f64>(70)?)?;
        assert!(y.to_vec()?.into_iter().enumerate().all(|(i, y)| y == values[i % 32]));
        Ok(())
    })
}

#[test]
fn spans_without_elements() -> Result<(), Error> {
    on_each(|ctx, k| {
        let x = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
        let is_null = |x| k.is_null(ctx, &x, ctx.enqueue_create_buffer::<u32>(1)?)?.to_vec();
        assert_eq!(is_null(x.as_span())?, [0]);
        assert_eq!(is_null(x.as_span().slice(2..2)?)?, [1]);
        // A launch that covers nothing is none.
        let tint = Tint { weight: 0.5, color: Color { rgba: [0.0; 4] } };
        assert!(k.tint(ctx, tint, ctx.enqueue_create_buffer::<Color>(0)?)?.is_empty());
        Ok(())
    })
}

#[test]
fn two_dimensions() -> Result<(), Error> {
    on_each(|ctx, k| {
        let (w, h) = (37, 11);
        let img = k.tile(ctx, w, h, ctx.enqueue_create_buffer::<u32>((w * h) as usize)?)?;
        assert!(img.to_vec()?.into_iter().zip(0..).all(|(pixel, i)| pixel == i / w * 1000 + i % w));
        Ok(())
    })
}

#[test]
fn bodies_for_some_devices() -> Result<(), Error> {
    on_each(|ctx, k| {
        let mut data = ctx.enqueue_create_buffer_zeroed::<u32>(4)?;
        let here = k.on_the_cpu_only(ctx, &mut data);
        // SAFETY: four threads for four elements, and 16 bytes.
        let there = unsafe { k.reverse(ctx, Launch::new(1, 4).shared(16), &mut data) };
        let no_body = |result| matches!(result, Err(Error::NoBody { .. }));
        if ctx.device() == &Device::cpu() {
            here?;
            assert!(no_body(there));
        } else {
            there?;
            assert!(no_body(here));
        }
        Ok(())
    })
}

#[cfg(feature = "cuda")]
#[test]
fn launches_of_shared_memory() -> Result<(), Error> {
    let Some(gpu) = escrow_tests::gpu() else { return Ok(()) };
    let ctx = DeviceContext::new(gpu)?;
    let k = Kernels::load(ctx.device())?;
    let host = ctx.create_host_buffer_from(&(0..128).collect::<Vec<u32>>())?;
    let (mut data, _) = ctx.enqueue_create_buffer_from(host)?;
    let mut reverse = |launch: Launch| {
        // SAFETY: as many threads as elements, and enough bytes, or it is refused.
        unsafe { k.reverse(&ctx, launch, &mut data) }
    };
    reverse(Launch::new(2, 64).shared(256))?;
    // More than the 48 KiB that need no asking for.
    reverse(Launch::new(2, 64).shared(96 << 10))?;
    reverse(Launch::new(2, 64).shared(256))?;
    let error = reverse(Launch::new(1, 128).shared(512)).unwrap_err();
    assert!(matches!(error, Error::Geometry(_)), "{error}");
    let error = reverse(Launch::new(2, 64).shared(1 << 20)).unwrap_err();
    assert!(matches!(error, Error::Geometry(_)), "{error}");
    let expected = [(0..64).rev(), (64..128).rev()].into_iter().flatten().collect::<Vec<u32>>();
    assert_eq!(data.to_vec()?, expected);
    Ok(())
}
