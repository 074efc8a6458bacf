//! Two classics: `saxpy`, and a sum, which takes shared memory and two launches.

use std::iter;

use escrow::{DeviceBuffer, DeviceContext, Error, KernelSpanMut, Share, StreamTag};

/// Threads of a block of `sum`.
const BLOCK: usize = 256;
/// Blocks of the first pass of a sum; the second has one.
const PARTS: usize = 512;

/// The kernels of a device.
#[escrow::kernels(pub struct Blas, ptx = "kernels/blas.ptx", target = "sm_70")]
// SAFETY: the bodies index slices, which are checked, and write the elements of their share only. The PTX stays inside of
// the lengths that it is passed; thread `i` of `saxpy` writes `y[i]`, and thread 0 of block `i` of `sum` writes `parts[i]`.
unsafe extern "kernel" {
    /// `y += a * x`
    #[cpu(saxpy)]
    #[launch(cover(y))]
    #[requires(x.len() == y.len())]
    safe fn saxpy(#[len_of(y)] n: u32, a: f32, x: &[f32], y: &mut [f32]);

    /// As many sums as `parts` has elements, that of all of which is the sum of `x`.
    #[cpu(single sum)]
    #[launch(grid(parts.len()), block(BLOCK), shared(BLOCK * size_of::<f32>()))]
    safe fn sum(x: &[f32], #[len_of(x)] n: u32, #[out(all)] parts: &mut [f32]);
}

fn saxpy(share: &mut Share<'_>, _n: u32, a: f32, x: &[f32], y: KernelSpanMut<'_, f32>) {
    let range = share.range();
    y.own(share).iter_mut().zip(&x[range]).for_each(|(y, x)| *y += a * x);
}

/// In the order of the kernel, so that the bits are the same.
fn sum(x: &[f32], _n: u32, parts: &mut [f32]) {
    let blocks = parts.len();
    for (block, part) in parts.iter_mut().enumerate() {
        let mut sums: Vec<f32> = (0..BLOCK)
            .map(|thread| {
                let own = x.iter().skip(block * BLOCK + thread).step_by(blocks * BLOCK);
                own.fold(0.0, |sum, x| sum + x)
            })
            .collect();
        for half in iter::successors(Some(BLOCK / 2), |half| Some(half / 2)).take_while(|&half| half > 0) {
            let (low, high) = sums.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
        }
        *part = sums[0];
    }
}

/// Enqueues the sum of `x`: one element, with the same bits on every device.
///
/// # Errors
/// Those of creating buffers and of a launch.
pub fn enqueue_sum<S: StreamTag>(
    blas: &Blas,
    ctx: &DeviceContext<S>,
    x: &DeviceBuffer<f32, S>,
) -> Result<DeviceBuffer<f32, S>, Error> {
    let blocks = x.len().div_ceil(BLOCK).clamp(1, PARTS);
    let parts = blas.sum(ctx, x, ctx.enqueue_create_buffer::<f32>(blocks)?)?;
    Ok(blas.sum(ctx, &parts, ctx.enqueue_create_buffer::<f32>(1)?)?)
}
