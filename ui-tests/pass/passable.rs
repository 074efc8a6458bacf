//! Structs that are passed to kernels.

use std::mem::MaybeUninit;

use escrow::{
    Device, DeviceContext, DeviceLayout, DevicePassable, DeviceSpan, DeviceSpanMut, Dyn, Error, Share,
    StreamTag, TrustedPtr,
};

/// Spans, scalars, a length that is filled in, and a field that stays on the host.
#[derive(DevicePassable)]
struct Params<'a, S: StreamTag = Dyn> {
    table: DeviceSpan<'a, f32, S>,
    #[device(len_of(table))]
    len: u32,
    out: DeviceSpanMut<'a, MaybeUninit<f32>, S>,
    #[device(rename = "w")]
    weight: f32,
    #[device(skip)]
    name: String,
}

/// A pointer that somebody vouches for.
#[derive(DevicePassable)]
struct Raw {
    table: TrustedPtr<f32>,
    len: u32,
}

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[cpu(weigh)]
    #[launch(cover(p.out))]
    #[requires(p.table.len() == p.out.len())]
    safe fn weigh<S>(p: Params<'_, S>);

    /// # Safety
    /// `p.table` has `p.len` elements, ordered on the launching stream.
    #[cpu(single double)]
    #[launch(grid(1), block(1))]
    unsafe fn double(p: Raw);
}

fn weigh(share: &mut Share<'_>, p: ParamsBody<'_>) {
    assert_eq!(p.len as usize, p.table.len());
    let range = share.range();
    for (y, x) in p.out.own(share).iter_mut().zip(&p.table[range]) {
        *y = p.w * x;
    }
}

unsafe fn double(p: RawBody<'_>) {
    for i in 0..p.len as usize {
        // SAFETY: the contract of the kernel.
        unsafe { *p.table.as_ptr().add(i) *= 2.0 };
    }
}

fn main() -> Result<(), Error> {
    let ctx = DeviceContext::new(Device::cpu())?;
    let kernels = Kernels::load(ctx.device())?;
    let table = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&[1.0f32, 2.0, 3.0])?)?.0;
    let mut out = ctx.enqueue_create_buffer::<f32>(3)?;
    let name = "weights".to_owned();
    let p = Params { table: table.as_span(), len: 0, out: out.as_span_mut(), weight: 2.0, name };
    println!("{} of {}", p.name, p.table.len());
    kernels.weigh(&ctx, p)?;
    // SAFETY: the kernel writes every element that it covers, which are all.
    let out = unsafe { out.assume_init() };
    assert_eq!(out.to_vec()?, [2.0, 4.0, 6.0]);

    // SAFETY: the buffer is written on this stream only, outlives the launch in stream order, and has three elements.
    unsafe { kernels.double(&ctx, Raw { table: out.unsafe_ptr().trust(), len: 3 }) }?;
    assert_eq!(out.to_vec()?, [4.0, 8.0, 12.0]);
    println!("{}", <Params<'_> as DeviceLayout>::C_DECL);
    Ok(())
}
