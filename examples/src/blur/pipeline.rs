//! The picture's way over the device: strips on two streams.
//!
//! ```text
//! Rows      upload 0 | rows 0 | upload 1 | rows 1 | upload 2 | rows 2 | ...
//!                             \ handoff             \ handoff
//! Columns                                            columns 0 | download 0 | columns 1 | ...
//! ```
//!
//! A strip's pass along the columns reads the row results of the strips above and below, so it is enqueued when the
//! strip below has been handed over. While it runs, the other stream is at the strip after that.

use std::collections::VecDeque;

use escrow::{Device, DeviceBuffer, DeviceContext, HostBuffer, InFlight, Recorded, SharedDeviceBuffer};

use super::error::BlurError;
use super::gaussian::Gaussian;
use super::kernels::BlurKernels;
use super::layout::Layout;

escrow::streams! {
    /// The stream of uploads and of the pass along the rows.
    pub Rows,
    /// The stream of the pass along the columns and of downloads.
    pub Columns,
}

/// Strips that may be on their way at a time: enough to keep both streams busy, and a bound on device memory.
const AHEAD: usize = 4;
/// Samples of a strip, if nothing else decides. Small enough for the caches, large enough to be worth the calls.
const STRIP_SAMPLES: usize = 1 << 18;
/// Rows that a strip has at least, or it would read more rows of its neighbours than of its own.
const STRIP_ROWS: usize = 64;

/// The two streams of a device, and the kernels.
#[derive(Debug)]
pub struct Blur {
    rows: DeviceContext<Rows>,
    columns: DeviceContext<Columns>,
    kernels: BlurKernels,
}

/// A strip between its two passes: its row results, and the piece of the picture that it came from. The upload may
/// still be reading the piece, but the download that overwrites it comes after that.
struct Strip {
    sums: DeviceBuffer<f32, Columns>,
    piece: InFlight<HostBuffer<u16, Columns>>,
}

/// The weights, for each of the streams.
struct Weights {
    rows: SharedDeviceBuffer<f32, Rows>,
    columns: SharedDeviceBuffer<f32, Columns>,
}

impl Blur {
    /// Two streams on `device`.
    ///
    /// # Errors
    /// [`BlurError::Device`].
    pub fn new(device: &Device) -> Result<Blur, BlurError> {
        let rows = DeviceContext::tagged(Rows, device.clone())?;
        let columns = rows.fork_tagged(Columns)?;
        Ok(Blur { rows, columns, kernels: BlurKernels::load(device)? })
    }

    /// Pinned memory for a picture, to be filled and given to [`run`](Blur::run).
    ///
    /// # Errors
    /// [`BlurError::Device`] if there is not enough.
    pub fn create_picture(&self, layout: &Layout) -> Result<HostBuffer<u16, Columns>, BlurError> {
        Ok(self.columns.create_host_buffer(layout.samples())?)
    }

    /// Rows of the strips that a picture is best cut into.
    pub fn strip_rows(layout: &Layout, gaussian: &Gaussian) -> usize {
        let rows = STRIP_SAMPLES.div_ceil(layout.row_len() as usize);
        rows.max(STRIP_ROWS).max(gaussian.radius()).min(layout.height() as usize)
    }

    /// Blurs a picture in strips of about `strip_rows` rows, in its own memory. Calls `done` with the number of rows
    /// whenever a strip has come back. **Blocks.**
    ///
    /// # Errors
    /// [`BlurError::Device`]. The picture is lost then, but never before the device has finished with it.
    ///
    /// # Panics
    /// If `picture` is not made for `layout`.
    pub fn run(
        &self,
        picture: HostBuffer<u16, Columns>,
        layout: &Layout,
        gaussian: &Gaussian,
        strip_rows: usize,
        mut done: impl FnMut(usize),
    ) -> Result<HostBuffer<u16, Columns>, BlurError> {
        assert_eq!(picture.len(), layout.samples(), "the buffer is not made for this layout");
        let row_len = layout.row_len() as usize;
        // Not less than the radius, so that a strip never needs more than its two neighbours.
        let strip_rows = strip_rows.max(gaussian.radius()).min(layout.height() as usize);
        let weights = self.upload_weights(gaussian)?;

        // Owned pieces of one block: each moves through the streams by itself.
        let mut pieces = picture.into_chunks(strip_rows * row_len)?.into_iter();
        let mut flying = VecDeque::with_capacity(AHEAD);
        let mut landed = Vec::with_capacity(pieces.len());
        let mut land = |strip: Recorded<InFlight<HostBuffer<u16, Columns>>, Columns>| {
            let piece = strip.wait()?;
            done(piece.len() / row_len);
            landed.push(piece);
            Ok::<(), BlurError>(())
        };

        let mut above = DeviceBuffer::empty(&self.columns);
        let mut next = pieces.next().map(|piece| self.row_pass(piece, layout, &weights)).transpose()?;
        while let Some(Strip { sums, piece }) = next {
            next = pieces.next().map(|piece| self.row_pass(piece, layout, &weights)).transpose()?;
            let below = next.as_ref().map(|strip| &strip.sums);
            let blurred = self.column_pass(&above, &sums, below, layout, &weights)?;
            // The strip goes back to where it came from. The mark lets the host wait for it and not for what follows.
            let piece = blurred.enqueue_copy_to(piece)?;
            flying.push_back(self.columns.record(piece)?);
            if flying.len() == AHEAD {
                flying.pop_front().map_or(Ok(()), &mut land)?;
            }
            above = sums;
        }
        flying.into_iter().try_for_each(land)?;
        Ok(HostBuffer::rejoin(landed)?)
    }

    /// Uploads a strip, sums along its rows, and hands the sums over to the other stream.
    fn row_pass(
        &self,
        piece: HostBuffer<u16, Columns>,
        layout: &Layout,
        weights: &Weights,
    ) -> Result<Strip, BlurError> {
        // The piece is idle, so it joins this stream; from here on it is in flight.
        let (samples, piece) = self.rows.enqueue_create_buffer_from(piece)?;
        let sums = self.rows.enqueue_create_buffer(samples.len())?;
        let (row_len, channels) = (layout.row_len(), layout.channels());
        let sums = self.kernels.rows(&self.rows, row_len, channels, &samples, &weights.rows, sums)?;
        // One edge for both. `samples` is dropped here: its memory is freed in stream order, behind the kernel.
        let (sums, piece) = self.rows.handoff((sums, piece), &self.columns)?;
        Ok(Strip { sums, piece })
    }

    /// Sums along the columns of a strip, with as much of its neighbours as its ends need.
    fn column_pass(
        &self,
        above: &DeviceBuffer<f32, Columns>,
        strip: &DeviceBuffer<f32, Columns>,
        below: Option<&DeviceBuffer<f32, Columns>>,
        layout: &Layout,
        weights: &Weights,
    ) -> Result<DeviceBuffer<u16, Columns>, BlurError> {
        let halo = weights.columns.len() / 2 * layout.row_len() as usize;
        let above = above.as_span().slice(above.len().saturating_sub(halo)..)?;
        let below = match below {
            Some(below) => below.as_span().slice(..halo.min(below.len()))?,
            None => strip.as_span().slice(..0)?,
        };
        let (row_len, channels, max) = (layout.row_len(), layout.channels(), layout.depth().max());
        let out = self.columns.enqueue_create_buffer(strip.len())?;
        Ok(self.kernels.columns(
            &self.columns,
            row_len,
            channels,
            max.into(),
            &above,
            strip,
            &below,
            &weights.columns,
            out,
        )?)
    }

    /// Read-only memory, which both streams may read at the same time.
    fn upload_weights(&self, gaussian: &Gaussian) -> Result<Weights, BlurError> {
        let weights = gaussian.weights();
        let rows = self.rows.enqueue_create_buffer(weights.len())?.copy_from_slice(weights)?.into_shared()?;
        let columns = rows.share_with(&self.columns)?;
        Ok(Weights { rows, columns })
    }
}
