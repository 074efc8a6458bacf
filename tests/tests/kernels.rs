//! Kernels with Rust bodies, through every form of their declaration.

#![deny(warnings)]

use std::mem::MaybeUninit;
use std::sync::{LazyLock, Mutex};

use escrow::{
    Device, DeviceBuffer, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, Fault, KernelSpanMut,
    Launch, Operation, Share, StreamTag, TrustedPtr,
};

escrow::streams! { Compute, Upload }

/// Spans and a number, with their length.
#[derive(Debug, DevicePassable)]
pub struct Stencil<'a, S: StreamTag = Dyn> {
    src: DeviceSpan<'a, f32, S>,
    dst: DeviceSpanMut<'a, f32, S>,
    #[device(len_of(src))]
    n: u32,
    weight: f32,
}

/// Arguments of more than 128 bytes.
#[derive(Debug, DevicePassable)]
pub struct Large {
    values: [f64; 32],
}

#[escrow::kernels(pub struct Blas)]
unsafe extern "kernel" {
    /// y = a * x + y
    #[cpu(saxpy)]
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);

    #[cpu(square)]
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn square(x: &[f32], #[out(each)] out: &mut [f32]);

    #[cpu(two)]
    #[launch(cover(x))]
    #[requires(x.len() == sum.len(), x.len() == flags.len())]
    safe fn two(x: &[f32], #[out(each)] sum: &mut [f32], #[out(all)] flags: &mut [u8]);

    #[cpu(stencil)]
    #[launch(cover(p.dst))]
    #[requires(p.src.len() == p.dst.len())]
    safe fn stencil<S>(p: Stencil<'_, S>);

    #[cpu(stencil)]
    #[launch(cover(p.dst))]
    safe fn stencil_dyn(p: Stencil<'_>);

    #[cpu(tile)]
    #[launch(grid(w.div_ceil(16), h.div_ceil(16)), block(16, 16), shared(0))]
    #[requires(w as usize * h as usize == img.len())]
    safe fn tile(w: u32, h: u32, img: &mut [f32]);

    #[cpu(single scan)]
    #[launch(cover(y))]
    safe fn scan(y: &mut [u64]);

    #[cpu(any)]
    #[launch(max(grid = 4, block = 32, shared = 16))]
    safe fn any(y: &mut [u32]);

    #[cpu(any)]
    #[launch(max(grid = (4, 2), block = (8, 8)))]
    safe fn any2(#[out(each)] y: &mut [u32]);

    #[cpu(partly)]
    #[launch(grid(x.len() / 4), block(4))]
    safe fn partly(x: &[u32], #[out(all)] y: &mut [u32]);

    /// Adds 1.
    ///
    /// # Safety
    /// `p` has `n` elements.
    #[cpu(raw)]
    unsafe fn raw(p: TrustedPtr<f32>, n: u32);

    #[cpu(bytes)]
    #[launch(cover(y))]
    safe fn bytes(#[len_of(y)] n: u8, y: &mut [u8]);

    #[cpu(span_bytes)]
    #[launch(cover(p.data))]
    safe fn span_bytes<Q>(#[len_of(p.data)] n: i64, p: Short<'_, Q>);

    #[cpu(large)]
    #[launch(cover(y))]
    safe fn large(p: Large, y: &mut [f64]);

    #[cpu(panics)]
    #[launch(cover(y))]
    safe fn panics(y: &mut [f32]);

    #[cpu(nested)]
    #[launch(cover(y))]
    safe fn nested(y: &mut [f32]);

    #[launch(cover(y))]
    safe fn bodiless(y: &mut [f32]);

    #[cpu(r#type)]
    #[launch(cover(r#in))]
    #[requires(call > 0, launch != geometry)]
    safe fn r#type(r#in: &mut [f32], ctx: f32, call: u32, launch: u32, geometry: u32);

    #[cpu(three)]
    #[launch(cover(a))]
    safe fn three(a: &mut [u32], b: &mut [u32], c: &mut [u32]);
}

/// A length in a byte.
#[derive(Debug, DevicePassable)]
pub struct Short<'a, S: StreamTag> {
    data: DeviceSpanMut<'a, u16, S>,
    #[device(len_of(data))]
    n: u8,
}

fn saxpy(share: &mut Share<'_>, n: u32, a: f32, x: &[f32], y: KernelSpanMut<'_, f32>) {
    let range = share.range();
    assert!(range.end <= n as usize && share.threads() == n as usize);
    for (y, x) in y.own(share).iter_mut().zip(&x[range]) {
        *y += a * *x;
    }
}

fn square(share: &mut Share<'_>, x: &[f32], out: KernelSpanMut<'_, f32>) {
    let range = share.range();
    for (out, x) in out.own(share).iter_mut().zip(&x[range]) {
        *out = *x * *x;
    }
}

fn two(share: &mut Share<'_>, x: &[f32], sum: KernelSpanMut<'_, f32>, flags: KernelSpanMut<'_, u8>) {
    let range = share.range();
    let (sum, flags) = share.own2(sum, flags);
    for ((sum, flag), x) in sum.iter_mut().zip(flags).zip(&x[range]) {
        *sum = *x + 1.0;
        *flag = u8::from(*x > 1.0);
    }
}

fn stencil(share: &mut Share<'_>, p: StencilBody<'_>) {
    assert_eq!(p.n as usize, p.src.len());
    let range = share.range();
    for (i, dst) in range.zip(p.dst.own(share)) {
        let left = p.src[i.saturating_sub(1)];
        let right = p.src[(i + 1).min(p.src.len() - 1)];
        *dst = p.weight * (left + right);
    }
}

fn tile(share: &mut Share<'_>, w: u32, _h: u32, img: KernelSpanMut<'_, f32>) {
    let start = share.range().start;
    for (at, pixel) in img.own(share).iter_mut().enumerate() {
        let (x, y) = ((start + at) % w as usize, (start + at) / w as usize);
        *pixel = (10 * y + x) as f32;
    }
}

fn scan(y: &mut [u64]) {
    let mut sum = 0;
    for y in y {
        sum += *y;
        *y = sum;
    }
}

fn any(share: &mut Share<'_>, y: KernelSpanMut<'_, u32>) {
    let threads = share.threads() as u32;
    y.own(share).fill(threads);
}

fn partly(share: &mut Share<'_>, _: &[u32], y: KernelSpanMut<'_, u32>) {
    any(share, y);
}

unsafe fn raw(share: &mut Share<'_>, p: TrustedPtr<f32>, n: u32) {
    for i in share.range().take_while(|i| *i < n as usize) {
        // SAFETY: the caller's pointer has `n` elements, and each index is one thread's.
        unsafe { *p.as_ptr().add(i) += 1.0 };
    }
}

fn bytes(share: &mut Share<'_>, n: u8, y: KernelSpanMut<'_, u8>) {
    y.own(share).fill(n);
}

fn span_bytes(share: &mut Share<'_>, n: i64, p: ShortBody<'_>) {
    assert_eq!(i64::from(p.n), n);
    p.data.own(share).fill(n as u16);
}

fn large(share: &mut Share<'_>, p: LargeBody<'_>, y: KernelSpanMut<'_, f64>) {
    let range = share.range();
    for (i, y) in range.zip(y.own(share)) {
        *y = p.values[i % 32];
    }
}

fn panics(share: &mut Share<'_>, _: KernelSpanMut<'_, f32>) {
    assert!(share.range().is_empty(), "a bug in the body");
}

struct World {
    ctx: DeviceContext,
    blas: Blas,
    seen: Mutex<Vec<Error>>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let ctx = DeviceContext::new(Device::cpu()).unwrap();
    World { blas: Blas::load(ctx.device()).unwrap(), ctx, seen: Mutex::default() }
});

fn nested(share: &mut Share<'_>, _: KernelSpanMut<'_, f32>) {
    if share.range().start == 0 {
        let mut none = DeviceBuffer::<u64>::empty(&WORLD.ctx);
        WORLD.seen.lock().unwrap().extend([
            WORLD.blas.scan(&WORLD.ctx, &mut none).unwrap_err(),
            WORLD.ctx.synchronize(()).unwrap_err().error,
        ]);
    }
}

fn r#type(share: &mut Share<'_>, r#in: KernelSpanMut<'_, f32>, ctx: f32, call: u32, launch: u32, geometry: u32) {
    r#in.own(share).fill(ctx + (call + launch + geometry) as f32);
}

fn three(share: &mut Share<'_>, a: KernelSpanMut<'_, u32>, b: KernelSpanMut<'_, u32>, c: KernelSpanMut<'_, u32>) {
    let (a, b, c) = share.own3(a, b, c);
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        (*a, *b, *c) = (*b, *c, *a);
    }
}

fn setup() -> Result<(DeviceContext, Blas), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let blas = Blas::load(ctx.device())?;
    Ok((ctx, blas))
}

fn buffer<T: escrow::DType, S: StreamTag>(ctx: &DeviceContext<S>, values: &[T]) -> DeviceBuffer<T, S> {
    ctx.enqueue_create_buffer::<T>(values.len()).unwrap().copy_from_slice(values).unwrap()
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

const LENGTHS: [usize; 9] = [0, 1, 2, 31, 33, 255, 257, 1000, 100_003];

#[test]
fn lengths_of_all_kinds() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    assert_eq!(k.device(), ctx.device());
    for n in LENGTHS {
        let x = buffer(&ctx, &ramp(n));
        let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(n)?.enqueue_ones()?;
        k.saxpy(&ctx, 2.0, &x, &mut y)?;
        assert_eq!(y.to_vec()?, ramp(n).iter().map(|x| 2.0 * x + 1.0).collect::<Vec<_>>(), "{n}");
        // Every operand that can be read and written.
        k.saxpy(&ctx, 1.0, &x.as_span(), &mut y.as_span_mut())?;
        let x = x.into_shared()?;
        k.saxpy(&ctx, 1.0, &x, &mut y)?;
        let mut z = ctx.enqueue_create_buffer_zeroed::<f32>(n)?;
        k.saxpy(&ctx, 1.0, &y.as_span_mut(), &mut z)?;
        assert_eq!(z.to_vec()?, ramp(n).iter().map(|x| 4.0 * x + 1.0).collect::<Vec<_>>(), "{n}");
    }
    Ok(())
}

trait Ones: Sized {
    fn enqueue_ones(self) -> Result<Self, Error>;
}

impl Ones for DeviceBuffer<f32> {
    fn enqueue_ones(mut self) -> Result<Self, Error> {
        self.enqueue_fill(1.0)?;
        Ok(self)
    }
}

#[test]
fn out_arguments_of_all_kinds() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    for n in LENGTHS {
        let x = buffer(&ctx, &ramp(n));
        let squares: Vec<f32> = ramp(n).iter().map(|x| x * x).collect();
        let mut z: DeviceBuffer<f32> = k.square(&ctx, &x, ctx.enqueue_create_buffer::<f32>(n)?)?;
        assert_eq!(z.to_vec()?, squares);
        z.enqueue_fill(0.0)?;
        let () = k.square(&ctx, &x, &mut z)?;
        assert_eq!(z.to_vec()?, squares);
        z.enqueue_fill(0.0)?;
        k.square(&ctx, &x, z.as_span_mut())?;
        assert_eq!(z.to_vec()?, squares);

        let mut raw = ctx.enqueue_create_buffer::<f32>(n)?;
        let (low, high) = raw.as_span_mut().split_at(n / 2)?;
        k.square(&ctx, &x.as_span().slice(..n / 2)?, low)?;
        k.square(&ctx, &x.as_span().slice(n / 2..)?, high)?;
        // SAFETY: both halves were written on the stream.
        assert_eq!(unsafe { raw.assume_init() }.to_vec()?, squares);

        let (sum, flags) =
            k.two(&ctx, &x, ctx.enqueue_create_buffer::<f32>(n)?, ctx.enqueue_create_buffer::<u8>(n)?)?;
        assert_eq!(sum.to_vec()?, ramp(n).iter().map(|x| x + 1.0).collect::<Vec<_>>());
        assert_eq!(flags.to_vec()?, ramp(n).iter().map(|x| u8::from(*x > 1.0)).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn a_fault_hands_out_arguments_back() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let x = buffer(&ctx, &ramp(4));
    let raw: DeviceBuffer<MaybeUninit<f32>> = ctx.enqueue_create_buffer::<f32>(5)?;
    let Err(Fault { error, value: raw }) = k.square(&ctx, &x, raw) else { panic!("4 is not 5") };
    let Error::Requires(it) = error else { panic!("{error}") };
    assert_eq!((it.kernel, &*it.condition), ("square", "x.len() == out.len()"));
    assert_eq!(it.found, "`x.len()` is 4 and `out.len()` is 5");
    assert_eq!(raw.len(), 5);

    let Err(Fault { error, value: (sum, flags) }) = k.two(&ctx, &x, raw, ctx.enqueue_create_buffer::<u8>(4)?) else {
        panic!("4 is not 5")
    };
    assert!(matches!(error, Error::Requires(_)));
    assert_eq!((sum.len(), flags.len()), (5, 4));
    Ok(())
}

#[test]
fn passable_structs() -> Result<(), Error> {
    let ctx = DeviceContext::tagged(Compute, Device::cpu())?;
    let k = Blas::load(ctx.device())?;
    let src = buffer(&ctx, &[1.0f32, 2.0, 4.0]);
    let mut dst = ctx.enqueue_create_buffer_zeroed::<f32>(3)?;
    k.stencil(&ctx, Stencil { src: src.as_span(), dst: dst.as_span_mut(), n: 0, weight: 0.5 })?;
    assert_eq!(dst.to_vec()?, [1.5, 2.5, 3.0]);
    let error = k
        .stencil(&ctx, Stencil { src: src.as_span().slice(1..)?, dst: dst.as_span_mut(), n: 0, weight: 0.5 })
        .unwrap_err();
    let Error::Requires(it) = error else { panic!("{error}") };
    assert_eq!(it.found, "`p.src.len()` is 2 and `p.dst.len()` is 3");

    let (ctx, k) = setup()?;
    let src = buffer(&ctx, &[1.0f32, 2.0]);
    let mut dst = ctx.enqueue_create_buffer_zeroed::<f32>(2)?;
    k.stencil_dyn(&ctx, Stencil { src: src.as_span(), dst: dst.as_span_mut(), n: 0, weight: 1.0 })?;
    assert_eq!(dst.to_vec()?, [3.0, 3.0]);
    Ok(())
}

#[test]
fn computed_and_bounded_launches() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let mut image = ctx.enqueue_create_buffer_zeroed::<f32>(21)?;
    k.tile(&ctx, 7, 3, &mut image)?;
    assert_eq!(image.to_vec()?[13..16], [16.0, 20.0, 21.0]);
    k.tile(&ctx, 0, 9, &mut DeviceBuffer::<f32>::empty(&ctx))?;

    let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(100)?;
    k.any(&ctx, (2, 30), &mut y)?;
    assert_eq!(y.to_vec()?, [vec![60; 60], vec![0; 40]].concat());
    k.any(&ctx, (0, 30), &mut y)?;
    assert_eq!(y.to_vec()?[0], 60, "no threads, nothing done");
    for launch in [
        Launch::new(5, 1),
        Launch::new(1, 33),
        Launch::new((1, 2), 1),
        Launch::new(1, (1, 2)),
        Launch::new(1, 1).shared(17),
        Launch::new(1, 0),
    ] {
        assert!(matches!(k.any(&ctx, launch, &mut y), Err(Error::Geometry(_))), "{launch:?}");
    }
    k.any2(&ctx, Launch::new((4, 2), (4, 4)), &mut y)?;
    assert_eq!(y.to_vec()?, [128; 100]);
    Ok(())
}

#[test]
fn outs_are_covered_or_it_is_an_error() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let mut y = ctx.enqueue_create_buffer_zeroed::<u32>(100)?;
    let error = k.any2(&ctx, (4, 8), &mut y).unwrap_err().error;
    assert_eq!(error.to_string(), "kernel `any2`: a launch of 32 threads cannot write all 100 elements of `y`");
    let none = DeviceBuffer::<u32>::empty(&ctx);
    let error = k.partly(&ctx, &none, &mut y).unwrap_err().error;
    assert!(matches!(error, Error::Geometry(_)), "no threads write no elements: {error}");
    assert_eq!(y.to_vec()?, [0; 100]);
    k.partly(&ctx, &none, &mut DeviceBuffer::<u32>::empty(&ctx))?;
    Ok(())
}

#[test]
fn single_bodies_run_once() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    for n in [0, 1, 100_000] {
        let mut y = buffer(&ctx, &vec![1u64; n]);
        k.scan(&ctx, &mut y)?;
        assert_eq!(y.to_vec()?, (1..=n as u64).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn three_spans_at_a_time() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let (mut a, mut b, mut c) = (buffer(&ctx, &[1u32; 70]), buffer(&ctx, &[2u32; 70]), buffer(&ctx, &[3u32; 70]));
    k.three(&ctx, &mut a, &mut b, &mut c)?;
    assert_eq!((a.to_vec()?, b.to_vec()?, c.to_vec()?), (vec![2; 70], vec![3; 70], vec![1; 70]));
    Ok(())
}

#[test]
fn unsafe_kernels_take_a_launch_and_pointers() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let y = buffer(&ctx, &ramp(50));
    // SAFETY: the buffer lives until the stream has passed the kernel, which stays in its 50 elements.
    unsafe { k.raw(&ctx, Launch::cover(50), y.unsafe_ptr().trust(), 50)? };
    assert_eq!(y.to_vec()?, ramp(51)[1..]);
    // SAFETY: as above.
    let error = unsafe { k.raw(&ctx, (1, 1025), y.unsafe_ptr().trust(), 50) }.unwrap_err();
    assert!(matches!(error, Error::Geometry(_)));
    Ok(())
}

#[test]
fn lengths_that_do_not_fit() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let mut y = ctx.enqueue_create_buffer_zeroed::<u8>(256)?;
    let error = k.bytes(&ctx, &mut y).unwrap_err();
    assert!(matches!(error, Error::LengthOf { name: "n", len: 256, bits: 8 }), "{error}");
    k.bytes(&ctx, &mut y.as_span_mut().slice(1..)?)?;
    assert_eq!(y.to_vec()?[..2], [0, 255]);

    let mut data = ctx.enqueue_create_buffer_zeroed::<u16>(256)?;
    let error = k.span_bytes(&ctx, Short { data: data.as_span_mut(), n: 0 }).unwrap_err();
    assert!(matches!(error, Error::LengthOf { name: "n", len: 256, bits: 8 }), "{error}");
    assert_eq!(data.to_vec()?, [0; 256]);
    k.span_bytes(&ctx, Short { data: data.as_span_mut().slice(..3)?, n: 0 })?;
    assert_eq!(data.to_vec()?[..4], [3, 3, 3, 0]);

    // Streams come first: the length is not what is wrong here.
    let other = ctx.fork()?;
    let error = k.span_bytes(&other, Short { data: data.as_span_mut(), n: 0 }).unwrap_err();
    assert!(matches!(error, Error::WrongStream { .. }));
    Ok(())
}

#[test]
fn large_arguments() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let values: [f64; 32] = std::array::from_fn(|i| i as f64);
    let mut y = ctx.enqueue_create_buffer_zeroed::<f64>(40)?;
    k.large(&ctx, Large { values }, &mut y)?;
    assert_eq!(y.to_vec()?[30..34], [30.0, 31.0, 0.0, 1.0]);
    Ok(())
}

#[test]
fn names_do_not_collide() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(3)?;
    k.r#type(&ctx, &mut y, 0.5, 1, 2, 3)?;
    assert_eq!(y.to_vec()?, [6.5; 3]);
    let error = k.r#type(&ctx, &mut y, 0.5, 0, 2, 3).unwrap_err();
    assert_eq!(error.to_string(), "kernel `type` requires `call > 0`, but `call` is 0");
    let error = k.r#type(&ctx, &mut y, 0.5, 1, 2, 2).unwrap_err();
    assert_eq!(error.to_string(), "kernel `type` requires `launch != geometry`, but `launch` is 2 and `geometry` is 2");
    Ok(())
}

#[test]
fn other_devices() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let other = DeviceContext::new(Device::cpu_chaos(1))?;
    let mut there = other.enqueue_create_buffer_zeroed::<u64>(3)?;
    let error = k.scan(&other, &mut there).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { op: Operation::Launch }), "of the kernel set");
    let error = k.scan(&ctx, &mut there).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { op: Operation::Launch }), "of an operand");
    Blas::load(other.device())?.scan(&other, &mut there)?;
    assert_eq!(there.to_vec()?, [0; 3]);
    Ok(())
}

fn is_wrong_stream(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::WrongStream { op: Operation::Launch }))
}

#[test]
fn other_streams_in_each_position() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let other = ctx.fork()?;
    let (x, mut y) = (buffer(&ctx, &ramp(4)), buffer(&ctx, &ramp(4)));
    let (ox, mut oy) = (buffer(&other, &ramp(4)), buffer(&other, &ramp(4)));
    assert!(is_wrong_stream(&k.saxpy(&ctx, 1.0, &ox, &mut y)));
    assert!(is_wrong_stream(&k.saxpy(&ctx, 1.0, &x, &mut oy)));
    assert!(is_wrong_stream(&k.saxpy(&other, 1.0, &x, &mut y)));
    assert!(is_wrong_stream(&k.saxpy(&ctx, 1.0, &ox.as_span(), &mut y)));
    assert!(is_wrong_stream(&k.saxpy(&ctx, 1.0, &x, &mut oy.as_span_mut())));
    assert!(is_wrong_stream(&k.square(&ctx, &ox, &mut y).map_err(Error::from)));
    assert!(is_wrong_stream(&k.square(&ctx, &x, &mut oy).map_err(Error::from)));
    assert!(is_wrong_stream(&k.square(&ctx, &x, oy.as_span_mut()).map_err(Error::from)));
    let raw = other.enqueue_create_buffer::<f32>(4)?;
    let Err(Fault { error, value: raw }) = k.square(&ctx, &x, raw) else { panic!("another stream") };
    assert!(matches!(error, Error::WrongStream { .. }) && raw.len() == 4);
    assert!(is_wrong_stream(&k.stencil(&ctx, Stencil { src: ox.as_span(), dst: y.as_span_mut(), n: 0, weight: 1.0 })));
    assert!(is_wrong_stream(&k.stencil(&ctx, Stencil { src: x.as_span(), dst: oy.as_span_mut(), n: 0, weight: 1.0 })));
    // No lengths: the streams differ all the same.
    assert!(is_wrong_stream(&k.scan(&ctx, &mut DeviceBuffer::<u64>::empty(&other))));
    // Before conditions and geometry.
    assert!(is_wrong_stream(&k.saxpy(&ctx, 1.0, &ox.as_span().slice(1..)?, &mut y)));
    assert!(is_wrong_stream(&k.any(&ctx, (9, 9), &mut other.enqueue_create_buffer_zeroed::<u32>(1)?)));
    for buffer in [&x, &y, &ox, &oy] {
        assert_eq!(buffer.to_vec()?, ramp(4));
    }

    // Tags are labels: two streams may bear one.
    let (a, b) = (DeviceContext::tagged(Upload, Device::cpu())?, DeviceContext::tagged(Upload, Device::cpu())?);
    let mut there = a.enqueue_create_buffer_zeroed::<u64>(1)?;
    assert!(is_wrong_stream(&k.scan(&b, &mut there)));
    Ok(())
}

#[test]
fn errors_enqueue_nothing() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let x = buffer(&ctx, &ramp(3));
    let mut y = buffer(&ctx, &ramp(4));
    let error = k.saxpy(&ctx, 1.0, &x, &mut y).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `saxpy` requires `x.len() == y.len()`, but `x.len()` is 3 and `y.len()` is 4"
    );
    assert_eq!(y.to_vec()?, ramp(4));
    let error = k.bodiless(&ctx, &mut y).unwrap_err();
    assert!(matches!(error, Error::NoBody { kernel: "bodiless" }), "{error}");
    Ok(())
}

#[test]
fn bodies_cannot_enqueue() -> Result<(), Error> {
    let mut y = WORLD.ctx.enqueue_create_buffer_zeroed::<f32>(1)?;
    WORLD.blas.nested(&WORLD.ctx, &mut y)?;
    WORLD.ctx.synchronize(())?;
    let seen = WORLD.seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|error| matches!(error, Error::FromWorker { .. })), "{seen:?}");
    Ok(())
}

#[test]
fn panics_fail_the_stream() -> Result<(), Error> {
    let (ctx, k) = setup()?;
    let mut y = ctx.enqueue_create_buffer_zeroed::<f32>(100)?;
    k.panics(&ctx, &mut y)?;
    let Error::StreamFailed(failure) = ctx.synchronize(()).unwrap_err().error else { panic!("it failed") };
    assert_eq!(failure.kernel, "panics");
    assert_eq!(failure.message, "a bug in the body");
    Ok(())
}

/// A private set in a module without a prelude, under another name of the crate, and a block of its own.
mod elsewhere {
    #![no_implicit_prelude]

    use ::escrow as other;

    mod bodies {
        pub(super) fn add(share: &mut ::escrow::Share<'_>, x: ::escrow::KernelSpanMut<'_, u32>, add: u32) {
            for x in x.own(share) {
                *x += add;
            }
        }
    }

    struct Private;

    #[other::kernels(struct Set, crate = other)]
    unsafe extern "kernel" {
        #[cpu(bodies::add)]
        #[launch(cover(x))]
        safe fn add(x: &mut [u32], add: u32);
        #[cpu(bodies::add)]
        #[launch(cover(x))]
        #[cfg(any())]
        safe fn add(x: &mut [u32], add: u32, left_out: ());
        pub(self) unsafe fn never_called();
    }

    #[::core::prelude::v1::test]
    fn works() -> ::std::result::Result<(), other::Error> {
        let _ = Private;
        let ctx = other::DeviceContext::new(other::Device::cpu())?;
        let mut x = ctx.enqueue_create_buffer_zeroed::<u32>(5)?;
        Set::load(ctx.device())?.add(&ctx, &mut x, 3)?;
        ::std::assert_eq!(x.to_vec()?, [3; 5]);
        ::std::result::Result::Ok(())
    }
}
