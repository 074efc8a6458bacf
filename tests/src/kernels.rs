//! The kernels that the helpers launch.

use escrow::{DeviceBuffer, DeviceContext, Error, KernelSpanMut, Share, StreamTag};

#[escrow::kernels(pub(crate) struct Kernels, ptx = "tests/kernels/helpers.ptx")]
unsafe extern "kernel" {
    /// Runs one job of the helpers, on one thread.
    #[ptx(none)]
    #[cpu(single crate::run_job)]
    #[launch(grid(1), block(1))]
    safe fn job(number: u64);

    /// `dst = mixed(dst, src)`
    #[cpu(mix)]
    #[launch(cover(dst))]
    #[requires(dst.len() == src.len())]
    safe fn mix(dst: &mut [u32], src: &[u32], #[len_of(dst)] n: u32);
}

fn mix(share: &mut Share<'_>, dst: KernelSpanMut<'_, u32>, src: &[u32], _n: u32) {
    let range = share.range();
    dst.own(share).iter_mut().zip(&src[range]).for_each(|(dst, src)| *dst = mixed(*dst, *src));
}

/// What [`enqueue_mix`] makes of one element.
pub fn mixed(dst: u32, src: u32) -> u32 {
    dst.rotate_left(5) ^ src.wrapping_mul(0x9E37_79B9)
}

/// Enqueues `dst = mixed(dst, src)` for each element, as a kernel.
///
/// # Errors
/// Those of a launch; `Requires` if the lengths differ.
pub fn enqueue_mix<S: StreamTag>(
    ctx: &DeviceContext<S>,
    dst: &mut DeviceBuffer<u32, S>,
    src: &DeviceBuffer<u32, S>,
) -> Result<(), Error> {
    Kernels::load(ctx.device())?.mix(ctx, dst, src)
}

pub(crate) fn enqueue_job<S: StreamTag>(ctx: &DeviceContext<S>, number: u64) -> Result<(), Error> {
    Kernels::load(ctx.device())?.job(ctx, number)
}
