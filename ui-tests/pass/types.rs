//! What buffers hold, and memory that nothing has written yet.

use std::mem::MaybeUninit;

use bytemuck::{Pod, Zeroable};
use escrow::{Bool8, DType, Device, DeviceBuffer, DeviceContext, Error, Fault, HostBuffer, InFlight, PodElement};

/// Plain data that a crate without this library declares.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Line([u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, DType)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: f32,
}

fn zeros<T: DType>(ctx: &DeviceContext, n: usize) -> Result<DeviceBuffer<T>, Error> {
    ctx.enqueue_create_buffer_zeroed::<T>(n)
}

#[derive(Debug)]
enum Mine {
    Gpu(Error),
}

impl<V> From<Fault<V>> for Mine {
    fn from(fault: Fault<V>) -> Mine {
        Mine::Gpu(fault.into())
    }
}

impl From<Error> for Mine {
    fn from(error: Error) -> Mine {
        Mine::Gpu(error)
    }
}

fn land(ctx: &DeviceContext, host: InFlight<HostBuffer<f32>>) -> Result<HostBuffer<f32>, Mine> {
    Ok(ctx.synchronize(host)?)
}

fn main() -> Result<(), Mine> {
    let ctx = DeviceContext::new(Device::cpu())?;

    // Elements.
    let flags = zeros::<Bool8>(&ctx, 4)?;
    assert!(flags.to_vec()?.iter().all(|flag| !flag.get()));
    let text = ctx.create_host_buffer_from(&['a' as u32])?;
    assert_eq!(char::from_u32(text[0]), Some('a'));
    let indices: HostBuffer<u64> = ctx.create_host_buffer_from(&[3u64])?;
    assert_eq!([0, 1, 2, 3][indices[0] as usize], 3);
    let particle = Particle { position: [1.0; 3], charge: -1.0 };
    let (particles, _) = {
        let (dev, host) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&[particle])?)?;
        (dev, ctx.synchronize(host)?)
    };
    assert_eq!(particles.to_vec()?, [particle]);
    let lines = ctx.create_host_buffer_from(&[PodElement(Line([7; 32]))])?;
    assert_eq!(lines[0].0.0[31], 7);

    // Lengths and indices are `usize`, and a value fits its element.
    let n = usize::try_from(-4 + 8).expect("it is not negative");
    let mut bytes = zeros::<u8>(&ctx, n)?;
    bytes.enqueue_fill(300u16 as u8)?;
    bytes.enqueue_fill(u8::MAX)?;
    let bytes = bytes.to_vec()?;
    assert_eq!(bytes[bytes.len() - 1], 255);

    // Converted by the host; seen as another type without a conversion.
    let halves: Vec<f32> = [0.5f64, 1.5].iter().map(|x| *x as f32).collect();
    let mut dev = zeros::<f32>(&ctx, 2)?;
    dev.copy_from_slice(&halves)?;
    assert_eq!(dev.as_span().view::<u32>()?.to_vec()?[0], 0.5f32.to_bits());
    dev.enqueue_fill(1.0)?;

    // Memory that nothing has written: each of these gives it back as written.
    let raw: DeviceBuffer<MaybeUninit<f32>> = ctx.enqueue_create_buffer::<f32>(2)?;
    let ones = raw.enqueue_fill(1.0)?;
    let copy = ctx.enqueue_create_buffer::<f32>(2)?.enqueue_copy_from(&ones)?;
    let shared = copy.into_shared()?;
    assert_eq!(shared.to_vec()?, [1.0; 2]);
    let again = ones.into_uninit().copy_from_slice(&[2.0, 3.0])?;
    println!("{:?} {again:?}", again.to_vec()?);

    // Device memory to the host.
    let host = land(&ctx, again.enqueue_copy_to(ctx.create_host_buffer::<f32>(2)?)?)?;
    let mut sum = 0.0;
    for x in &host {
        sum += x;
    }
    for x in again.to_vec()? {
        sum += x;
    }
    assert_eq!(sum, 10.0);
    host.enqueue_fill(1.0)?.synchronize()?;
    Ok(())
}
