//! The two kernels.

use escrow::{KernelSpanMut, Share};

use super::stencil::{Rows, raise_to_change, step_row};

/// The kernels of a device.
#[escrow::kernels(pub struct HeatKernels, ptx = "kernels/heat.ptx", target = "sm_70")]
// SAFETY: the bodies index slices, which are checked, and write the elements of their share only. The PTX stays inside of
// the lengths that it is passed, for which the conditions hold, and thread `i` writes element `i` only.
unsafe extern "kernel" {
    /// One step: each point becomes the mean of the four around it, but for those that are held and for the ends of a row.
    /// `above` and `below` are the rows before the first and behind the last one.
    #[cpu(step)]
    #[launch(cover(next))]
    #[requires(width > 0 && field.len().is_multiple_of(width as usize))]
    #[requires(above.len() == width as usize, below.len() == width as usize)]
    #[requires(held.len() == field.len(), next.len() == field.len())]
    safe fn step(
        width: u32,
        above: &[f32],
        field: &[f32],
        below: &[f32],
        held: &[u8],
        next: &mut [f32],
        #[len_of(next)] n: u32,
    );

    /// The largest change in each column: as many as `largest` has elements.
    #[cpu(change)]
    #[launch(cover(largest))]
    #[requires(!largest.is_empty() && old.len().is_multiple_of(largest.len()), new.len() == old.len())]
    safe fn change(old: &[f32], new: &[f32], #[len_of(new)] n: u32, largest: &mut [f32], #[len_of(largest)] width: u32);
}

// Lengths come for the PTX, which gets pointers; slices know theirs.

#[allow(clippy::too_many_arguments)]
fn step(
    share: &mut Share<'_>,
    width: u32,
    above: &[f32],
    field: &[f32],
    below: &[f32],
    held: &[u8],
    next: KernelSpanMut<'_, f32>,
    _n: u32,
) {
    let width = width as usize;
    let (mut at, end) = (share.range().start, share.range().end);
    let mut out = next.own(share);
    // A share begins and ends anywhere in a row.
    while at < end {
        let row = at - at % width;
        let part = at..end.min(row + width);
        let rows = Rows {
            up: if row == 0 { above } else { &field[row - width..row] },
            mid: &field[row..row + width],
            down: field.get(row + width..row + 2 * width).unwrap_or(below),
            held: &held[row..row + width],
        };
        let (this, rest) = out.split_at_mut(part.len());
        step_row(rows, part.start - row..part.end - row, this);
        (at, out) = (part.end, rest);
    }
}

fn change(share: &mut Share<'_>, old: &[f32], new: &[f32], _n: u32, largest: KernelSpanMut<'_, f32>, width: u32) {
    let columns = share.range();
    let largest = largest.own(share);
    largest.fill(0.0);
    for (old, new) in old.chunks_exact(width as usize).zip(new.chunks_exact(width as usize)) {
        raise_to_change(&old[columns.clone()], &new[columns.clone()], largest);
    }
}
