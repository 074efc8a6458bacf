//! What the experts do.

use std::ops::Range;

use escrow::{DeviceBuffer, DeviceContext, Error, KernelSpanMut, Share, StreamTag};

use super::tokens::{float, mixed};

/// The kernel of a device.
#[escrow::kernels(pub struct ExpertKernels, ptx = "kernels/experts.ptx", target = "sm_70")]
// SAFETY: the body indexes slices, which are checked, and writes the elements of its share only. The PTX clamps experts that
// there are not, stays inside of the lengths that it is passed, and thread `i` writes element `i` only.
unsafe extern "kernel" {
    /// Each token's vector times its expert's matrix, and 0 where that is negative. A matrix has `dim` rows of `dim`
    /// elements, and `matrices` has `experts` of them; `expert` has one number for each token.
    #[cpu(apply)]
    #[launch(cover(out))]
    #[requires(dim > 0 && out.len() == tokens.len(), expert.len() * dim as usize == tokens.len())]
    #[requires(experts > 0 && matrices.len() == experts as usize * dim as usize * dim as usize)]
    safe fn apply(
        dim: u32,
        experts: u32,
        matrices: &[f32],
        expert: &[u32],
        tokens: &[f32],
        out: &mut [f32],
        #[len_of(out)] n: u32,
    );
}

#[allow(clippy::too_many_arguments)]
fn apply(
    share: &mut Share<'_>,
    dim: u32,
    experts: u32,
    matrices: &[f32],
    expert: &[u32],
    tokens: &[f32],
    out: KernelSpanMut<'_, f32>,
    _n: u32,
) {
    let dim = dim as usize;
    let (mut at, end) = (share.range().start, share.range().end);
    let mut out = out.own(share);
    // A share begins and ends anywhere in a vector.
    while at < end {
        let token = at / dim;
        let columns = at - token * dim..dim.min(end - token * dim);
        let (this, rest) = out.split_at_mut(columns.len());
        let expert = expert[token].min(experts - 1) as usize;
        let matrix = &matrices[expert * dim * dim..][..dim * dim];
        multiply(&tokens[token * dim..][..dim], matrix, columns, this);
        (at, out) = (at + this.len(), rest);
    }
}

/// Some columns of a row vector times a matrix. Products are added in the order of the rows, as the PTX does it.
fn multiply(vector: &[f32], matrix: &[f32], columns: Range<usize>, out: &mut [f32]) {
    out.fill(0.0);
    for (x, row) in vector.iter().zip(matrix.chunks_exact(vector.len())) {
        out.iter_mut().zip(&row[columns.clone()]).for_each(|(sum, y)| *sum += x * y);
    }
    for sum in out {
        *sum = if *sum > 0.0 { *sum } else { 0.0 };
    }
}

/// The experts of a PE, and the kernel.
#[derive(Debug)]
pub struct Experts<S: StreamTag> {
    pub(super) kernels: ExpertKernels,
    pub(super) matrices: DeviceBuffer<f32, S>,
    pub(super) count: usize,
}

impl<S: StreamTag> Experts<S> {
    /// Uploads the matrices of `experts`. A PE without experts gets a matrix that nothing asks for.
    ///
    /// # Errors
    /// Those of creating a buffer.
    pub fn new(ctx: &DeviceContext<S>, experts: Range<usize>, dim: usize) -> Result<Experts<S>, Error> {
        let count = experts.len().max(1);
        let values: Vec<f32> = (experts.start..experts.start + count).flat_map(|expert| matrix(expert, dim)).collect();
        let matrices = ctx.enqueue_create_buffer(values.len())?.copy_from_slice(&values)?;
        Ok(Experts { kernels: ExpertKernels::load(ctx.device())?, matrices, count })
    }
}

/// The matrix of an expert, row by row.
pub(super) fn matrix(expert: usize, dim: usize) -> impl Iterator<Item = f32> {
    let scale = (dim as f32).sqrt().recip();
    (0..(dim * dim) as u64).map(move |i| scale * float(mixed(expert as u64) ^ i))
}
