//! Whole programs, as users write them: each runs, and its result is checked.

use std::mem::{self, MaybeUninit};
use std::sync::{Arc, Mutex, OnceLock};

use escrow::{
    DType, Device, DeviceBuffer, DeviceContext, DevicePassable, DeviceSpan, DeviceSpanMut, DeviceWrite, Dyn, Error,
    Fault, HostBuffer, InFlight, KernelSpanMut, SameElem, SameStream, Share, SharedDeviceBuffer, SharedHostBuffer,
    StreamTag,
};

#[escrow::kernels(pub struct Kernels, ptx = "tests/kernels/programs.ptx", target = "sm_70")]
unsafe extern "kernel" {
    /// `data *= factor`
    #[cpu(scale)]
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32], #[len_of(data)] n: u32);

    /// `y += a * x`
    #[cpu(saxpy)]
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(a: f32, x: &[f32], y: &mut [f32], #[len_of(y)] n: u32);

    /// `out = x * x`
    #[cpu(square)]
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn square(x: &[f32], #[out(each)] out: &mut [f32], #[len_of(x)] n: u32);

    /// `dst = weight * src`, through a struct.
    #[cpu(stencil)]
    #[launch(cover(p.dst))]
    #[requires(p.src.len() == p.dst.len())]
    safe fn stencil<S>(p: Stencil<'_, S>);
}

/// Arguments of `stencil`.
#[derive(Debug, DevicePassable)]
pub struct Stencil<'a, S: StreamTag = Dyn> {
    /// Read.
    pub src: DeviceSpan<'a, f32, S>,
    /// Written.
    pub dst: DeviceSpanMut<'a, f32, S>,
    /// The factor.
    pub weight: f32,
    /// Elements; filled in.
    #[device(len_of(dst))]
    pub n: u32,
}

fn scale(share: &mut Share<'_>, factor: f32, data: KernelSpanMut<'_, f32>, _n: u32) {
    data.own(share).iter_mut().for_each(|x| *x *= factor);
}

fn saxpy(share: &mut Share<'_>, a: f32, x: &[f32], y: KernelSpanMut<'_, f32>, _n: u32) {
    let range = share.range();
    y.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y += a * x);
}

fn square(share: &mut Share<'_>, x: &[f32], out: KernelSpanMut<'_, f32>, _n: u32) {
    let range = share.range();
    out.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y = x * x);
}

fn stencil(share: &mut Share<'_>, p: StencilBody<'_>) {
    let range = share.range();
    p.dst.own(share).iter_mut().zip(&p.src[range]).for_each(|(y, x)| *y = p.weight * x);
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

#[test]
fn upload_compute_download_on_one_stream() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::default_device()?)?;
    let kernels = Kernels::load(ctx.device())?;
    let mut host = ctx.create_host_buffer::<f32>(4)?;
    host.copy_from_slice(&[0.0, 2.0, 3.0, 4.0]);
    host[0] = 1.0;
    let (mut dev, host) = ctx.enqueue_create_buffer_from(host)?;
    kernels.scale(&ctx, 2.0, &mut dev)?;
    let host = dev.enqueue_copy_to(host)?;
    let host = ctx.synchronize(host)?;
    assert_eq!(host.to_string(), "HostBuffer([2.0, 4.0, 6.0, 8.0])");
    assert_eq!((&host).into_iter().sum::<f32>(), 20.0);
    Ok(())
}

escrow::streams! { Upload, Compute, Download }

#[test]
fn chunks_overlap_on_three_named_streams() -> Result<(), Error> {
    let device = Device::default_device()?;
    let up = DeviceContext::tagged(Upload, device.clone())?;
    let compute = DeviceContext::tagged(Compute, device.clone())?;
    let down = up.fork_tagged(Download)?;
    let kernels = Kernels::load(&device)?;
    let src = up.create_host_buffer_from(&numbers(1 << 12))?;
    let dst = down.create_host_buffer::<f32>(1 << 12)?;
    let (mut ups, mut downs) = (vec![], vec![]);
    for (input, output) in src.into_chunks(1 << 10)?.into_iter().zip(dst.into_chunks(1 << 10)?) {
        let (dev, input) = up.enqueue_create_buffer_from(input)?;
        ups.push(input);
        let dev = up.handoff(dev, &compute)?;
        let result = compute.enqueue_create_buffer::<f32>(dev.len())?;
        let result = kernels.square(&compute, &dev, result)?;
        let result = compute.handoff(result, &down)?;
        downs.push(result.enqueue_copy_to(output)?);
    }
    let out = HostBuffer::rejoin(down.synchronize(downs)?)?;
    let src = HostBuffer::rejoin(up.synchronize(ups)?)?;
    assert!(out.iter().zip(&src).all(|(y, x)| *y == x * x));
    assert_eq!(out.len(), 1 << 12);
    Ok(())
}

#[test]
fn any_number_of_streams_in_a_vec() -> Result<(), Error> {
    let mut lanes = vec![DeviceContext::new(Device::default_device()?)?];
    for _ in 1..4 {
        lanes.push(lanes[0].fork()?);
    }
    let kernels = Kernels::load(lanes[0].device())?;
    let src = lanes[0].create_host_buffer_from(&numbers(1 << 12))?;
    let mut flights: Vec<InFlight<HostBuffer<f32>>> = Vec::new();
    for (n, piece) in src.into_chunks(1 << 8)?.into_iter().enumerate() {
        let ctx = &lanes[n % lanes.len()];
        let (mut dev, piece) = ctx.enqueue_create_buffer_from(piece)?;
        kernels.scale(ctx, 3.0, &mut dev)?;
        flights.push(dev.enqueue_copy_to(piece)?);
    }
    let mut pieces = Vec::new();
    for flight in flights {
        pieces.push(flight.synchronize()?);
    }
    let whole = HostBuffer::rejoin(pieces)?;
    assert!(whole.iter().enumerate().all(|(i, x)| *x == 3.0 * i as f32));
    Ok(())
}

struct Model<S: StreamTag = Dyn> {
    ctx: DeviceContext<S>,
    kernels: Kernels,
    weights: DeviceBuffer<f32, S>,
    x: DeviceBuffer<f32, S>,
    staging: Option<HostBuffer<f32, S>>,
    table: SharedDeviceBuffer<f32, S>,
}

impl<S: StreamTag> Model<S> {
    fn step(&mut self) -> Result<f32, Error> {
        let host = self.staging.take().expect("at rest between steps");
        let host = self.x.enqueue_copy_from(host)?;
        self.kernels.saxpy(&self.ctx, 2.0, &self.table, &mut self.weights)?;
        self.kernels.saxpy(&self.ctx, 1.0, &self.x, &mut self.weights)?;
        let host = self.weights.enqueue_copy_to(host)?;
        let host = self.ctx.synchronize(host)?;
        let first = host[0];
        self.staging = Some(host);
        Ok(first)
    }
}

#[test]
fn in_structs_statics_and_threads() -> Result<(), Error> {
    static CTX: OnceLock<DeviceContext<Compute>> = OnceLock::new();
    static TABLE: OnceLock<SharedHostBuffer<f32>> = OnceLock::new();
    let ctx = CTX.get_or_init(|| DeviceContext::tagged(Compute, Device::cpu()).unwrap()).clone();
    TABLE.get_or_init(|| DeviceContext::new(Device::cpu()).unwrap().create_host_buffer(8).unwrap().into_shared());
    let model = Model {
        weights: ctx.enqueue_create_buffer_zeroed(8)?,
        x: ctx.enqueue_create_buffer_zeroed(8)?,
        staging: Some(ctx.create_host_buffer_from(&[0.0; 8])?),
        table: ctx.enqueue_create_buffer::<f32>(8)?.enqueue_fill(0.5)?.into_shared()?,
        kernels: Kernels::load(ctx.device())?,
        ctx,
    };
    let shared = Arc::new(Mutex::new(model));
    std::thread::scope(|s| {
        for _ in 0..4 {
            let model = Arc::clone(&shared);
            s.spawn(move || model.lock().unwrap().step().unwrap());
        }
    });
    // w' = w + 1 + x, and x is the previous w': 1, 3, 7, 15, then 31.
    let last = std::thread::spawn(move || shared.lock().unwrap().step().unwrap()).join().unwrap();
    assert_eq!(last, 31.0);
    Ok(())
}

fn duplicate<T: DType, S: StreamTag>(src: &DeviceBuffer<T, S>) -> Result<DeviceBuffer<T, S>, Error> {
    let raw: DeviceBuffer<MaybeUninit<T>, S> = src.context().enqueue_create_buffer(src.len())?;
    Ok(raw.enqueue_copy_from(src)?)
}

fn copy_twice<T: DType, S: StreamTag>(src: &DeviceBuffer<T, S>, dst: &mut DeviceBuffer<T, S>) -> Result<(), Error> {
    src.enqueue_copy_to(&mut *dst)?;
    dst.enqueue_copy_from(src)?; // the receiver form reborrows by itself
    Ok(())
}

fn round_trip<T: DType, S: StreamTag>(ctx: &DeviceContext<S>, data: &[T], fill: T) -> Result<Vec<T>, Error> {
    let host = ctx.create_host_buffer_from(data)?;
    let (dev, host) = ctx.enqueue_create_buffer_from(host)?;
    let host = host.enqueue_fill(fill)?;
    let host = dev.enqueue_copy_to(host)?;
    Ok(ctx.synchronize(host)?.to_vec())
}

fn twice_on_any<S: StreamTag, D: DeviceWrite>(k: &Kernels, ctx: &DeviceContext<S>, d: &mut D) -> Result<(), Error>
where
    D::Elem: SameElem<f32>,
    D::Tag: SameStream<S>,
{
    k.scale(ctx, 2.0, d)?;
    k.scale(ctx, 2.0, d)
}

#[test]
fn generic_over_tag_element_and_memory() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    assert_eq!(round_trip(&ctx, &[1u8, 2], 3)?, [1, 2]);
    let b = ctx.enqueue_create_buffer::<f64>(3)?.enqueue_fill(1.5)?;
    let mut d = ctx.enqueue_create_buffer_zeroed::<f64>(3)?;
    copy_twice(&duplicate(&b)?, &mut d)?;
    assert_eq!(d.to_vec()?, [1.5; 3]);
    let mut f = ctx.enqueue_create_buffer::<f32>(3)?.enqueue_fill(1.0)?;
    twice_on_any(&Kernels::load(ctx.device())?, &ctx, &mut f)?;
    assert_eq!(f.to_vec()?, [4.0; 3]);
    Ok(())
}

fn serve(
    root: &DeviceContext,
    kernels: &Kernels,
    weights: &SharedHostBuffer<f32>,
    table: &SharedDeviceBuffer<f32>,
    input: &[f32],
) -> Result<Vec<f32>, Error> {
    let ctx = root.fork()?;
    let table = table.share_with(&ctx)?;
    let w = ctx.enqueue_create_buffer_from(weights)?; // `&Shared`: nothing to get back
    let (mut x, host) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(input)?)?;
    kernels.saxpy(&ctx, 1.0, &w, &mut x)?;
    kernels.saxpy(&ctx, 1.0, &table, &mut x)?;
    Ok(x.enqueue_copy_to(host)?.synchronize()?.to_vec())
}

#[test]
fn one_stream_per_request() -> Result<(), Error> {
    let root = DeviceContext::new(Device::cpu())?;
    let kernels = Kernels::load(root.device())?;
    let weights = root.create_host_buffer_from(&[1.0f32; 16])?.into_shared();
    let table = root.enqueue_create_buffer::<f32>(16)?.enqueue_fill(2.0)?.into_shared()?;
    std::thread::scope(|s| {
        for i in 0..8 {
            let (root, kernels, weights, table) = (&root, &kernels, &weights, &table);
            s.spawn(move || {
                let out = serve(root, kernels, weights, table, &[i as f32; 16]).unwrap();
                assert_eq!(out, [i as f32 + 3.0; 16]);
            });
        }
    });
    let mut table = table.try_unshare()?;
    table.enqueue_fill(0.0)?;
    let weights = weights.try_unshare()?; // each request waited for its own upload
    assert_eq!(weights[15], 1.0);
    Ok(())
}

#[test]
fn recovery_from_a_length_error() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let mut dev = ctx.enqueue_create_buffer_zeroed::<f32>(2)?;
    let host = ctx.create_host_buffer_from(&[1.0f32, 2.0, 3.0])?;
    let host = match dev.enqueue_copy_from(host) {
        Ok(_) => panic!("the lengths differ"),
        Err(Fault { error: Error::Length { dst: 2, src, .. }, value }) => {
            let bigger = ctx.enqueue_create_buffer::<f32>(src)?;
            let (bigger, host) = bigger.enqueue_copy_from(value)?;
            dev = bigger;
            host
        }
        Err(fault) => return Err(fault.into()),
    };
    assert_eq!(ctx.synchronize(host)?.as_span(), [1.0, 2.0, 3.0]);
    assert_eq!(dev.to_vec()?, [1.0, 2.0, 3.0]);
    Ok(())
}

#[derive(Debug)]
struct Mine(#[allow(dead_code)] Error);

impl From<Error> for Mine {
    fn from(error: Error) -> Self {
        Mine(error)
    }
}

impl<V> From<Fault<V>> for Mine {
    fn from(fault: Fault<V>) -> Self {
        Mine(fault.error)
    }
}

#[test]
fn with_the_users_own_error_type() -> Result<(), Mine> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let (_dev, host) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer::<f32>(4)?)?;
    ctx.synchronize(host)?;
    let boxed = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (_dev, host) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer::<f32>(4)?)?;
        host.synchronize()?;
        Ok(())
    };
    boxed().expect("every error of ours is a `std` error");
    Ok(())
}

#[test]
fn borrowed_slices_in_scopes() -> Result<(), Error> {
    let up = DeviceContext::tagged(Upload, Device::cpu())?;
    let down = DeviceContext::tagged(Download, Device::cpu())?;
    let kernels = Kernels::load(up.device())?;
    let input = vec![1.0f32; 64];
    let mut output = [0.0f32; 64];
    let mut first = [0.0f32; 4];
    let mut dev = up.enqueue_create_buffer_zeroed::<f32>(64)?;
    up.scope(|s| {
        dev.enqueue_copy_from(s.lend(&input))?;
        kernels.scale(&up, 2.0, &mut dev)?;
        dev.enqueue_copy_to(s.lend_mut(&mut output))?;
        dev.as_span().slice(0..4)?.enqueue_copy_to(s.lend_mut(&mut first))?;
        Ok(())
    })?;
    assert_eq!((output, first), ([2.0; 64], [2.0; 4]));
    // Two streams at once: both waits come at the end.
    let mut other = down.enqueue_create_buffer_zeroed::<f32>(64)?;
    let (a, b) = output.split_at_mut(32);
    up.scope(|u| {
        down.scope(|d| {
            dev.as_span().slice(0..32)?.enqueue_copy_to(u.lend_mut(a))?;
            other.as_span_mut().slice(0..32)?.enqueue_copy_from(d.lend(&input[..32]))?;
            other.as_span().slice(0..32)?.enqueue_copy_to(d.lend_mut(b))?;
            Ok(())
        })
    })?;
    assert_eq!((output[0], output[63]), (2.0, 1.0));
    let fresh = up.scope(|s| Ok(up.enqueue_create_buffer_from(s.lend(&input))?))?;
    fresh.copy_to_slice(&mut output)?;
    dev.copy_from_slice(&input)?;
    assert_eq!(output, [1.0; 64]);
    Ok(())
}

#[test]
fn structs_of_spans_as_kernel_arguments() -> Result<(), Error> {
    let ctx = DeviceContext::tagged(Compute, Device::cpu())?;
    let kernels = Kernels::load(ctx.device())?;
    let mut a = ctx.enqueue_create_buffer::<f32>(64)?.enqueue_fill(1024.0)?;
    let mut b = ctx.enqueue_create_buffer_zeroed::<f32>(64)?;
    for _ in 0..9 {
        kernels.stencil(&ctx, Stencil { src: a.as_span(), dst: b.as_span_mut(), weight: 0.5, n: 0 })?;
        mem::swap(&mut a, &mut b);
    }
    assert_eq!(a.to_vec()?, [2.0; 64]);
    Ok(())
}

#[test]
fn memory_becomes_written() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let kernels = Kernels::load(ctx.device())?;
    let x = ctx.enqueue_create_buffer::<f32>(64)?.enqueue_fill(3.0)?;
    let y = ctx.enqueue_create_buffer::<f32>(64)?.enqueue_copy_from(&x)?;
    let mut z = kernels.square(&ctx, &x, ctx.enqueue_create_buffer::<f32>(64)?)?;
    kernels.square(&ctx, &y, &mut z)?; // as an output again
    let z = kernels.square(&ctx, &y, z.into_uninit())?; // or by value
    let (w, host) = ctx.enqueue_create_buffer::<f32>(64)?.enqueue_copy_from(ctx.create_host_buffer::<f32>(64)?)?;
    let host = z.enqueue_copy_to(host)?;
    // Strips written through spans, then promised.
    let mut raw = ctx.enqueue_create_buffer::<f32>(64)?;
    let (low, high) = raw.as_span_mut().split_at(32)?;
    kernels.square(&ctx, &x.as_span().slice(..32)?, low)?;
    kernels.square(&ctx, &x.as_span().slice(32..)?, high)?;
    // SAFETY: the two launches wrote both halves, on this stream.
    let strips = unsafe { raw.assume_init() };
    assert_eq!(ctx.synchronize(host)?.as_span(), [9.0; 64]);
    assert_eq!(strips.to_vec()?, [9.0; 64]);
    assert_eq!(w.len(), 64);
    Ok(())
}

trait Backend {
    type Tag: StreamTag;
    fn ctx(&self) -> &DeviceContext<Self::Tag>;
    fn scale(&self, x: &mut DeviceBuffer<f32, Self::Tag>, factor: f32) -> Result<(), Error>;
}

struct Gpu {
    ctx: DeviceContext,
    kernels: Kernels,
}

impl Backend for Gpu {
    type Tag = Dyn;
    fn ctx(&self) -> &DeviceContext {
        &self.ctx
    }
    fn scale(&self, x: &mut DeviceBuffer<f32>, factor: f32) -> Result<(), Error> {
        self.kernels.scale(&self.ctx, factor, x)
    }
}

fn pipeline<B: Backend>(b: &B, data: &[f32]) -> Result<Vec<f32>, Error> {
    let (mut dev, host) = b.ctx().enqueue_create_buffer_from(b.ctx().create_host_buffer_from(data)?)?;
    b.scale(&mut dev, 2.0)?;
    b.scale(&mut dev, 2.0)?;
    let host = dev.enqueue_copy_to(host)?;
    Ok(b.ctx().synchronize(host)?.to_vec())
}

#[test]
fn behind_the_users_own_trait() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let gpu = Gpu { kernels: Kernels::load(ctx.device())?, ctx };
    assert_eq!(pipeline(&gpu, &[1.0])?, [4.0]);
    let boxed: Box<dyn Backend<Tag = Dyn>> = Box::new(gpu);
    assert_eq!(boxed.ctx().device(), &Device::cpu());
    Ok(())
}

#[test]
fn pieces_in_flight_on_different_streams() -> Result<(), Error> {
    let a = DeviceContext::tagged(Upload, Device::cpu())?;
    let b = DeviceContext::tagged(Compute, Device::cpu())?;
    let (low, high) = a.create_host_buffer_from(&numbers(64))?.into_split_at(32)?;
    let (da, low) = a.enqueue_create_buffer_from(low)?;
    let (db, high) = b.enqueue_create_buffer_from(high)?; // idle host memory joins any stream
    let (db, high) = b.handoff((db, high), &a)?; // both kinds of memory over one edge
    let (low, high) = a.synchronize((low, high))?;
    let host = HostBuffer::rejoin([low, high])?;
    let mut whole = a.enqueue_create_buffer_zeroed::<f32>(64)?;
    let (mut x, mut y) = whole.as_span_mut().split_at(32)?;
    x.enqueue_copy_from(&da)?;
    y.enqueue_copy_from(&db)?;
    let recorded = a.record(whole.enqueue_copy_to(host)?)?;
    let host = recorded.wait()?;
    assert_eq!(host.as_span(), numbers(64));
    let (p, q) = a.create_host_buffer::<f32>(64)?.enqueue_copy_from(host)?; // host to host
    let [p, q] = a.synchronize([p, q])?;
    assert_eq!(p.as_span(), q.as_span());
    Ok(())
}

struct Fields {
    typed: DeviceBuffer<f32, Upload>,
    plain: DeviceBuffer<f32>,
    here: DeviceContext,
    there: DeviceContext,
    up: DeviceContext<Upload>,
    compute: DeviceContext<Compute>,
    kernels: Kernels,
    host: Option<HostBuffer<f32, Upload>>,
}

impl Fields {
    fn typed(&mut self) -> Result<(), Error> {
        self.typed.on(&self.compute, |b| {
            b.enqueue_fill(1.0)?;
            self.kernels.scale(&self.compute, 2.0, b)
        })
    }

    fn plain(&mut self) -> Result<(), Error> {
        let dev = mem::replace(&mut self.plain, DeviceBuffer::empty(&self.here));
        let mut dev = self.here.handoff(dev, &self.there)?;
        dev.enqueue_fill(1.0)?;
        self.plain = self.there.handoff(dev, &self.here)?;
        Ok(())
    }

    fn host(&mut self) -> Result<(), Error> {
        let host = self.host.take().expect("at rest");
        let host = self.typed.enqueue_copy_to(host)?;
        self.host = Some(self.up.synchronize(host)?);
        Ok(())
    }
}

#[test]
fn buffers_that_live_in_fields() -> Result<(), Error> {
    let up = DeviceContext::tagged(Upload, Device::cpu())?;
    let here = DeviceContext::new(Device::cpu())?;
    let mut fields = Fields {
        typed: up.enqueue_create_buffer_zeroed(8)?,
        plain: here.enqueue_create_buffer_zeroed(8)?,
        there: here.fork()?,
        compute: up.fork_tagged(Compute)?,
        kernels: Kernels::load(up.device())?,
        host: Some(up.create_host_buffer(8)?),
        here,
        up,
    };
    fields.typed()?;
    fields.plain()?;
    fields.host()?;
    assert_eq!(fields.host.expect("it came back").as_span(), [2.0; 8]);
    assert_eq!(fields.plain.to_vec()?, [1.0; 8]);
    Ok(())
}
