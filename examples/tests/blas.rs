//! `saxpy` and the sum, on every device there is.

use escrow::{Device, DeviceContext, Error};
use escrow_examples::blas::{Blas, enqueue_sum};

fn saxpy_and_sum(device: Device) -> Result<(), Error> {
    let ctx = DeviceContext::new(device)?;
    let blas = Blas::load(ctx.device())?;
    for n in [0, 1, 255, 257, 200_000, 512 * 256 + 1] {
        let numbers = |factor: usize| -> Vec<f32> { (0..n).map(|i| (i * factor % 1000) as f32).collect() };
        let (x, _) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&numbers(7))?)?;
        let (mut y, _) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&numbers(3))?)?;
        blas.saxpy(&ctx, 0.5, &x, &mut y)?;
        let found = y.to_vec()?;
        let expected = numbers(7).iter().zip(numbers(3)).map(|(x, y)| y + 0.5 * x).collect::<Vec<_>>();
        assert_eq!(found, expected, "{n}");
        // The numbers are such that no sum is rounded much.
        let sum = f64::from(enqueue_sum(&blas, &ctx, &y)?.to_vec()?[0]);
        let exact: f64 = expected.iter().copied().map(f64::from).sum();
        assert!((sum - exact).abs() <= exact * 1e-6, "{n}: {sum} for {exact}");
    }
    Ok(())
}

#[test]
fn on_the_cpu() -> Result<(), Error> {
    saxpy_and_sum(Device::cpu())
}

#[cfg(feature = "cuda")]
#[test]
fn on_a_gpu() -> Result<(), Error> {
    let gpu = Device::cuda(0)?;
    saxpy_and_sum(gpu.clone())?;
    // Both devices add in one order.
    let sum = |device: &Device| -> Result<Vec<f32>, Error> {
        let ctx = DeviceContext::new(device.clone())?;
        let numbers: Vec<f32> = (0..100_001).map(|i| (i as f32).sin()).collect();
        let (x, _) = ctx.enqueue_create_buffer_from(ctx.create_host_buffer_from(&numbers)?)?;
        enqueue_sum(&Blas::load(device)?, &ctx, &x)?.to_vec()
    };
    assert_eq!(sum(&gpu)?, sum(&Device::cpu())?);
    Ok(())
}
