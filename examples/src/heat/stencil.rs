//! What the kernels do, on slices.

use std::ops::Range;

/// Rows around a row: what a step reads.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The row before it, which may be another PE's.
    pub up: &'a [f32],
    /// The row itself.
    pub mid: &'a [f32],
    /// The row behind it.
    pub down: &'a [f32],
    /// Which points of the row keep what they have: all that are not 0.
    pub held: &'a [u8],
}

/// The points `columns` of a row, a step later, to `out`, which has as many. The first and the last point of a row are
/// copied; so are those that are held.
///
/// The order of the additions is that of the PTX, and no two operations are fused, so that all devices give the same bits.
#[inline]
pub fn step_row(rows: Rows<'_>, columns: Range<usize>, out: &mut [f32]) {
    let Rows { up, mid, down, held } = rows;
    let inner = columns.start.max(1)..columns.end.min(mid.len() - 1);
    if columns.start == 0 {
        out[0] = mid[0];
    }
    if columns.end == mid.len() {
        out[mid.len() - 1 - columns.start] = mid[mid.len() - 1];
    }
    if !inner.is_empty() {
        let n = inner.len();
        let around = Around {
            up: &up[inner.start..][..n],
            down: &down[inner.start..][..n],
            left: &mid[inner.start - 1..][..n],
            right: &mid[inner.start + 1..][..n],
            mid: &mid[inner.start..][..n],
            held: &held[inner.start..][..n],
        };
        step_inner(&mut out[inner.start - columns.start..][..n], &around);
    }
}

/// What points of a row read: each as many elements.
struct Around<'a> {
    up: &'a [f32],
    down: &'a [f32],
    left: &'a [f32],
    right: &'a [f32],
    mid: &'a [f32],
    held: &'a [u8],
}

/// The loop of all time that there is. It is a function of its own, so that the compiler knows that `out` is nobody else's,
/// and it reads all elements and chooses by bits, so that it has no branches: both make it a loop over vectors.
#[inline(never)]
fn step_inner(out: &mut [f32], around: &Around<'_>) {
    let n = out.len();
    let &Around { up, down, left, right, mid, held } = around;
    let (up, down, left) = (&up[..n], &down[..n], &left[..n]);
    let (right, mid, held) = (&right[..n], &mid[..n], &held[..n]);
    for i in 0..n {
        let mean = 0.25 * ((up[i] + down[i]) + (left[i] + right[i]));
        // All bits where the point is held.
        let keep = u32::from(held[i] != 0).wrapping_neg();
        out[i] = f32::from_bits(mean.to_bits() & !keep | mid[i].to_bits() & keep);
    }
}

/// Raises each element of `largest` to the change between `old` and `new`, rows of as many points.
#[inline]
pub fn raise_to_change(old: &[f32], new: &[f32], largest: &mut [f32]) {
    for ((largest, old), new) in largest.iter_mut().zip(old).zip(new) {
        let change = (new - old).abs();
        // As one instruction has it; there is no NaN.
        *largest = if change > *largest { change } else { *largest };
    }
}
