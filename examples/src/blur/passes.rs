//! What the kernels compute, as functions of slices.
//!
//! Every result is a fixed sequence of `f32` operations, never fused and never reordered, so it has the same bits on
//! every device and however the work is divided.

use std::iter;
use std::ops::Range;

/// Samples that are summed side by side: whole pixels of 1 to 4 channels, and what fits the vector registers.
const BLOCK: usize = 48;
/// Samples of a row that the pass along the columns takes at a time, so that they stay in the cache.
const STRIPE: usize = 16 * BLOCK;

/// The pass along the rows, for the elements of `out` from `first` on.
pub(super) fn row_pass(first: usize, out: &mut [f32], row_len: usize, channels: usize, src: &[u16], weights: &[f32]) {
    let mut window = Vec::new();
    for (row, columns, out) in by_rows(first, out, row_len) {
        let src = &src[row * row_len..][..row_len];
        let start = columns.start - columns.start % channels;
        widen(src, start..columns.end.next_multiple_of(channels), channels, weights.len() / 2, &mut window);
        for (column, out) in columns.step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let at = column - start;
            out.copy_from_slice(&sum(out.len(), weights, |tap| &window[at + tap * channels..])[..out.len()]);
        }
    }
}

/// The pass along the columns, for the elements of `out` from `first` on.
pub(super) fn column_pass(
    first: usize,
    out: &mut [u16],
    row_len: usize,
    channels: usize,
    max: f32,
    src: &Stack<'_>,
    weights: &[f32],
) {
    let mut parts: Vec<_> = by_rows(first, out, row_len).collect();
    // All rows of the share before the next columns: each row is read for all the rows around it.
    for stripe in (0..row_len).step_by(STRIPE) {
        for (row, columns, out) in &mut parts {
            for column in (stripe..row_len.min(stripe + STRIPE)).step_by(BLOCK) {
                let len = BLOCK.min(row_len - column);
                // A share may end within a pixel, but colours need their alpha: sums are of whole blocks.
                let (from, to) = (column.max(columns.start), (column + len).min(columns.end));
                if from >= to {
                    continue;
                }
                let mut sums = sum(len, weights, |tap| &src.row(*row, tap, row_len)[column..]);
                straighten(&mut sums[..len], channels);
                let out = &mut out[from - columns.start..to - columns.start];
                for (out, sum) in out.iter_mut().zip(&sums[from - column..]) {
                    // To the nearest, halves up. The sum of the weights may be a little more than 1.
                    *out = (sum.min(max) + 0.5) as u16;
                }
            }
        }
    }
}

/// The rows of a strip, and those of its neighbours that it needs.
pub(super) struct Stack<'a> {
    pub(super) above: &'a [f32],
    pub(super) strip: &'a [f32],
    pub(super) below: &'a [f32],
    pub(super) radius: usize,
}

impl<'a> Stack<'a> {
    /// The row that is `tap - radius` below row `row` of the strip, or the picture's first or last row.
    fn row(&self, row: usize, tap: usize, row_len: usize) -> &'a [f32] {
        let (above, strip) = (self.above.len(), self.strip.len());
        let last = above + strip + self.below.len() - row_len;
        let at = (above + (row + tap) * row_len).saturating_sub(self.radius * row_len).min(last);
        let (rows, at) = if at < above {
            (self.above, at)
        } else if at < above + strip {
            (self.strip, at - above)
        } else {
            (self.below, at - above - strip)
        };
        &rows[at..at + row_len]
    }
}

/// Divides a share of a picture at the ends of rows: the row, the columns, and their part of the share.
fn by_rows<T>(first: usize, share: &mut [T], row_len: usize) -> impl Iterator<Item = (usize, Range<usize>, &mut [T])> {
    let (row, column) = (first / row_len, first % row_len);
    let (head, rest) = share.split_at_mut(share.len().min(row_len - column));
    iter::once((column, head))
        .chain(rest.chunks_mut(row_len).map(|part| (0, part)))
        .zip(row..)
        .map(|((column, part), row)| (row, column..column + part.len(), part))
}

/// Fills `window` with the samples `columns` of a row and `radius` pixels to both sides; over the ends of the row, its
/// end pixels. Colours are multiplied by their alpha, so that what cannot be seen does not shine through.
fn widen(row: &[u16], columns: Range<usize>, channels: usize, radius: usize, window: &mut Vec<f32>) {
    let halo = radius * channels;
    let inside = columns.start.saturating_sub(halo)..(columns.end + halo).min(row.len());
    let before = (halo - (columns.start - inside.start)) / channels;
    let behind = (halo - (inside.end - columns.end)) / channels;
    let (head, tail) = (&row[..channels], &row[row.len() - channels..]);
    window.clear();
    window.extend(iter::repeat_n(head, before).flatten().map(|&sample| f32::from(sample)));
    window.extend(row[inside].iter().map(|&sample| f32::from(sample)));
    window.extend(iter::repeat_n(tail, behind).flatten().map(|&sample| f32::from(sample)));
    if has_alpha(channels) {
        for pixel in window.chunks_exact_mut(channels) {
            if let [colors @ .., alpha] = pixel {
                for color in colors {
                    *color *= *alpha;
                }
            }
        }
    }
}

/// Divides the colours of whole pixels by their alpha. Where that is 0 the colours are, too.
fn straighten(sums: &mut [f32], channels: usize) {
    if has_alpha(channels) {
        for pixel in sums.chunks_exact_mut(channels) {
            if let [colors @ .., alpha] = pixel
                && *alpha > 0.0
            {
                for color in colors {
                    *color /= *alpha;
                }
            }
        }
    }
}

/// Whether the last of so many channels is alpha.
fn has_alpha(channels: usize) -> bool {
    channels.is_multiple_of(2)
}

/// The first `len` elements are the weighted sums of the first `len` elements of all taps, in the order of the taps.
#[inline(always)]
fn sum<'a>(len: usize, weights: &[f32], tap: impl Fn(usize) -> &'a [f32]) -> [f32; BLOCK] {
    let mut sums = [0.0; BLOCK];
    for (number, weight) in weights.iter().enumerate() {
        let tap = tap(number);
        // One branch with a length that the compiler knows, so that the sums stay in registers.
        if let (BLOCK, Some(tap)) = (len, tap.first_chunk::<BLOCK>()) {
            for (sum, sample) in sums.iter_mut().zip(tap) {
                *sum += weight * sample;
            }
        } else {
            for (sum, sample) in sums[..len].iter_mut().zip(tap) {
                *sum += weight * sample;
            }
        }
    }
    sums
}
