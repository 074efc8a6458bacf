//! The two kernels.

use escrow::{KernelSpanMut, Share};

use super::passes::{self, Stack};

/// The kernels of a device.
#[escrow::kernels(pub struct BlurKernels, ptx = "kernels/blur.ptx", target = "sm_70")]
// SAFETY: the bodies index slices, which are checked, and write the elements of their share only. The PTX stays inside of
// the lengths that it is passed, for which the conditions hold, and thread `i` writes element `i` only.
unsafe extern "kernel" {
    /// Weighted sums along the rows: `out[i]` is that of the pixels left and right of sample `i`.
    #[cpu(rows)]
    #[launch(cover(out))]
    #[requires(src.len() == out.len(), row_len > 0 && src.len().is_multiple_of(row_len as usize))]
    #[requires(channels > 0 && row_len.is_multiple_of(channels), !weights.is_empty())]
    safe fn rows(
        row_len: u32,
        channels: u32,
        src: &[u16],
        weights: &[f32],
        #[len_of(weights)] taps: u32,
        #[out(each)] out: &mut [f32],
        #[len_of(out)] n: u32,
    );

    /// Weighted sums along the columns, rounded to samples of at most `max`. `above` and `below` are the rows that the
    /// first and the last row of the strip reach, as far as the picture has them.
    #[cpu(columns)]
    #[launch(cover(out))]
    #[requires(strip.len() == out.len(), row_len > 0 && strip.len().is_multiple_of(row_len as usize))]
    #[requires(above.len().is_multiple_of(row_len as usize), below.len().is_multiple_of(row_len as usize))]
    #[requires(channels > 0 && row_len.is_multiple_of(channels), !weights.is_empty())]
    safe fn columns(
        row_len: u32,
        channels: u32,
        max: f32,
        above: &[f32],
        #[len_of(above)] above_len: u32,
        strip: &[f32],
        below: &[f32],
        #[len_of(below)] below_len: u32,
        weights: &[f32],
        #[len_of(weights)] taps: u32,
        #[out(each)] out: &mut [u16],
        #[len_of(out)] n: u32,
    );
}

// Lengths come for the PTX, which gets pointers; slices know theirs.

#[allow(clippy::too_many_arguments)]
fn rows(
    share: &mut Share<'_>,
    row_len: u32,
    channels: u32,
    src: &[u16],
    weights: &[f32],
    _taps: u32,
    out: KernelSpanMut<'_, f32>,
    _n: u32,
) {
    let first = share.range().start;
    passes::row_pass(first, out.own(share), row_len as usize, channels as usize, src, weights);
}

#[allow(clippy::too_many_arguments)]
fn columns(
    share: &mut Share<'_>,
    row_len: u32,
    channels: u32,
    max: f32,
    above: &[f32],
    _above_len: u32,
    strip: &[f32],
    below: &[f32],
    _below_len: u32,
    weights: &[f32],
    _taps: u32,
    out: KernelSpanMut<'_, u16>,
    _n: u32,
) {
    let first = share.range().start;
    let stack = Stack { above, strip, below, radius: weights.len() / 2 };
    passes::column_pass(first, out.own(share), row_len as usize, channels as usize, max, &stack, weights);
}
