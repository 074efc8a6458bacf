//! Kernels with device code: the same results from their PTX on a GPU as from their Rust bodies on the CPU device.

#![deny(warnings)]

use escrow::{
    DType, Device, DeviceContext, DevicePassable, DeviceSpan, Error, KernelSpanMut, Launch, Share, StreamTag,
};

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

/// Device code that comes when the program runs.
mod images {
    use super::*;

    const PARAMS: &str = include_str!("kernels/params.ptx");

    #[escrow::kernels(struct Later, image)]
    // SAFETY: as `Kernels`; images are `PARAMS`.
    unsafe extern "kernel" {
        #[launch(cover(data))]
        safe fn tint(by: Tint, #[out(each)] data: &mut [Color], #[len_of(data)] n: u32);

        #[cfg(any())]
        unsafe fn left_out(x: NoSuchType);

        #[ptx("is_null")]
        #[launch(grid(1), block(1))]
        #[requires(out.len() == 1)]
        safe fn null(x: &[f32], #[out(all)] out: &mut [u32]);

        #[ptx(none)]
        #[cpu(single nothing)]
        #[launch(cover(data))]
        safe fn on_the_cpu_only(data: &mut [u32]);
    }

    #[test]
    fn of_a_set_without_a_file() -> Result<(), Error> {
        for device in devices() {
            let is_cpu = device == Device::cpu();
            let ctx = DeviceContext::new(device)?;
            let x = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
            let null = |k: &Later| {
                let out = k.null(&ctx, &x, ctx.enqueue_create_buffer::<u32>(1)?)?;
                out.to_vec()
            };
            assert!(matches!(null(&Later::load(ctx.device())?), Err(Error::NoBody { kernel: "null" })));
            let with_zero = [PARAMS.as_bytes(), b"\0"].concat();
            for image in [PARAMS.as_bytes(), &with_zero] {
                // SAFETY: the file has what is declared.
                let k = unsafe { Later::load_image(ctx.device(), image) }?;
                let clone = k.clone();
                drop(k);
                if is_cpu {
                    assert!(matches!(null(&clone), Err(Error::NoBody { kernel: "null" })));
                    continue;
                }
                assert_eq!(null(&clone)?, [0]);
                let tint = Tint { weight: 0.5, color: Color { rgba: [2.0; 4] } };
                let data = clone.tint(&ctx, tint, ctx.enqueue_create_buffer::<Color>(300)?)?;
                assert_eq!(data.to_vec()?, [Color { rgba: [1.0; 4] }; 300]);
            }
        }
        Ok(())
    }

    #[test]
    fn instead_of_the_file() -> Result<(), Error> {
        on_each(|ctx, _| {
            // SAFETY: the same code.
            let k = unsafe { Kernels::load_image(ctx.device(), PARAMS.as_bytes()) }?;
            let img = k.tile(ctx, 4, 1, ctx.enqueue_create_buffer::<u32>(4)?)?;
            assert_eq!(img.to_vec()?, [0, 1, 2, 3]);
            Ok(())
        })
    }

    /// Sets of one kernel that the image does not have so.
    macro_rules! wrong {
        ($($set:ident: $name:ident($($params:tt)*);)+) => { $(
            #[escrow::kernels(struct $set, image)]
            unsafe extern "kernel" { unsafe fn $name($($params)*); }
        )+ };
    }

    wrong! {
        Missing: tiles(w: u32);
        Short: tile(w: u32, h: u32);
        Long: tile(w: u32, h: u32, img: &mut [u32], n: u32);
        Wide: tile(w: u32, h: u64, img: &mut [u32]);
        Struct: large(p: Tint, y: &mut [f64], n: u32);
        Value: tile(w: u32, h: u32, img: [u32; 1]);
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn that_differ_from_the_declaration() {
        macro_rules! error {
            ($set:ident, $device:expr, $image:expr) => {
                // SAFETY: nothing of it is launched.
                unsafe { $set::load_image($device, $image) }.unwrap_err()
            };
        }
        let Some(gpu) = escrow_tests::gpu() else { return };
        let image = PARAMS.as_bytes();
        let error = error!(Missing, &gpu, image);
        assert!(matches!(error, Error::NoFunction { kernel: "tiles" }), "{error}");
        // `large` is mangled there.
        assert!(matches!(error!(Struct, &gpu, image), Error::NoFunction { kernel: "large" }));
        let wrong = |error: Error| match error {
            Error::WrongParameter { kernel: "tile", index, declared, found } => (index, declared, found),
            error => panic!("{error}"),
        };
        assert_eq!(wrong(error!(Short, &gpu, image)), (2, 0, 8));
        assert_eq!(wrong(error!(Long, &gpu, image)), (3, 4, 0));
        assert_eq!(wrong(error!(Wide, &gpu, image)), (1, 8, 4));
        assert_eq!(wrong(error!(Value, &gpu, image)), (2, 4, 8));
        for image in [&b""[..], b"no code", b"\0"] {
            let error = error!(Missing, &gpu, image);
            assert!(matches!(error, Error::Driver { .. }), "{error}");
        }
    }

    #[derive(DevicePassable)]
    struct Spans<'a, S: StreamTag> {
        x: DeviceSpan<'a, f32, S>,
        weight: f32,
    }

    #[escrow::kernels(struct Tagged, image)]
    unsafe extern "kernel" {
        unsafe fn spans<S>(p: Spans<'_, S>, #[len_of(p.x)] n: u64);
    }

    #[test]
    fn are_not_looked_at_on_the_cpu_device() -> Result<(), Error> {
        let ctx = DeviceContext::new(Device::cpu())?;
        // SAFETY: there is no body that could be called.
        let k = unsafe { Tagged::load_image(ctx.device(), b"no code") }?;
        let x = ctx.enqueue_create_buffer_zeroed::<f32>(4)?;
        // SAFETY: as above.
        let result = unsafe { k.spans(&ctx, (1, 1), Spans { x: x.as_span(), weight: 1.0 }) };
        assert!(matches!(result, Err(Error::NoBody { .. })));
        Ok(())
    }
}

#[test]
fn questions_about_blocks() -> Result<(), Error> {
    on_each(|ctx, k| {
        let is_cpu = ctx.device() == &Device::cpu();
        let most = k.max_blocks("reverse", (8, 8), 1024)?;
        assert_eq!(most.is_none(), is_cpu);
        assert!(most.is_none_or(|most| most > 0 && k.max_blocks("reverse", 64, 90 << 10).unwrap() < Some(most)));
        // The name is that of the declaration.
        assert_eq!(k.max_blocks("large", 256, 0)?.is_none(), is_cpu);
        assert!(matches!(k.max_blocks("_Z5largefP", 256, 0), Err(Error::NoFunction { .. })));
        assert!(matches!(k.max_blocks("reverse", 1025, 0), Err(Error::Geometry(_))));
        assert!(matches!(k.max_blocks("reverse", 0, 0), Err(Error::Geometry(_))));
        if is_cpu {
            assert_eq!(k.max_blocks("on_the_cpu_only", 1, 0)?, None);
        } else {
            assert!(matches!(k.max_blocks("on_the_cpu_only", 1, 0), Err(Error::NoBody { .. })));
            assert!(matches!(k.max_blocks("reverse", 1, 1 << 30), Err(Error::Geometry(_))));
        }
        Ok(())
    })
}

#[cfg(feature = "cuda")]
#[test]
fn cooperative_launches_and_clusters() -> Result<(), Error> {
    let Some(gpu) = escrow_tests::gpu() else { return Ok(()) };
    let ctx = DeviceContext::new(gpu)?;
    let k = Kernels::load(ctx.device())?;
    let host = ctx.create_host_buffer_from(&(0..256).collect::<Vec<u32>>())?;
    let (mut data, _) = ctx.enqueue_create_buffer_from(host)?;
    let mut reverse = |launch: Launch| {
        // SAFETY: as many threads as elements, and enough bytes, or it is refused.
        unsafe { k.reverse(&ctx, launch, &mut data) }
    };
    let is_geometry = |result| matches!(result, Err(Error::Geometry(_)));
    let launch = Launch::new(4, 64).shared(256);
    reverse(launch.cooperative())?;
    let has_clusters = ctx.device().compute_capability() >= Some((9, 0));
    if has_clusters {
        reverse(launch.cluster(2))?;
        reverse(launch.cluster(4).cooperative())?;
    } else {
        assert!(is_geometry(reverse(launch.cluster(2))));
        reverse(launch)?;
        reverse(launch)?;
    }
    assert!(is_geometry(reverse(launch.cluster(3))));
    assert!(is_geometry(reverse(launch.cluster((2, 2)))));
    assert!(is_geometry(reverse(launch.cluster(0))));
    assert!(is_geometry(reverse(Launch::new(16, 64).cluster(16))));
    let most = k.max_blocks("reverse", 64, 256)?.unwrap_or(0);
    assert!(is_geometry(reverse(Launch::new(most + 1, 64).shared(256).cooperative())));
    assert!(is_geometry(reverse(Launch::new((1 << 31) - 1, 64).shared(256).cooperative())));
    if has_clusters {
        reverse(launch.cluster((2, 1, 1)))?;
    } else {
        reverse(launch)?;
    }
    // Reversed four times.
    assert_eq!(data.to_vec()?, (0..256).collect::<Vec<u32>>());
    Ok(())
}

/// What a block sees of its cluster. The driver of `fake-cuda` has no clusters, and takes no such code.
#[cfg(feature = "cuda")]
#[test]
fn blocks_see_their_cluster() -> Result<(), Error> {
    const IMAGE: &str = "
        .version 7.8
        .target sm_90
        .address_size 64
        .visible .entry cluster_size(.param .u64 out)
        {
            .reg .b32 %r<3>;
            .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [out];
            cvta.to.global.u64 %rd2, %rd1;
            mov.u32 %r1, %ctaid.x;
            mul.wide.u32 %rd3, %r1, 4;
            add.s64 %rd2, %rd2, %rd3;
            mov.u32 %r2, %cluster_nctarank;
            st.global.u32 [%rd2], %r2;
            ret;
        }";

    #[escrow::kernels(struct Clusters, image)]
    // SAFETY: each block writes its element.
    unsafe extern "kernel" {
        #[launch(max(grid = out.len(), block = 1))]
        safe fn cluster_size(out: &mut [u32]);
    }

    let Some(gpu) = escrow_tests::gpu() else { return Ok(()) };
    let ctx = DeviceContext::new(gpu)?;
    // SAFETY: the code is what is declared.
    let k = match unsafe { Clusters::load_image(ctx.device(), IMAGE.as_bytes()) } {
        Ok(k) => k,
        Err(Error::Driver { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut out = ctx.enqueue_create_buffer_zeroed::<u32>(8)?;
    for (launch, size) in [
        (Launch::new(8, 1), 1),
        (Launch::new(8, 1).cluster(4), 4),
        (Launch::new(8, 1).cluster(8).cooperative(), 8),
        (Launch::new(8, 1).cooperative(), 1),
    ] {
        k.cluster_size(&ctx, launch, &mut out)?;
        assert_eq!(out.to_vec()?, [size; 8], "{launch:?}");
    }
    Ok(())
}
