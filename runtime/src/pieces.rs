//! Owned pieces of host memory.

use crate::dtype::DType;
use crate::error::{Error, Fault};
use crate::host::HostBuffer;
use crate::region::resolve;
use crate::tag::StreamTag;

/// Owned pieces, which go their own ways and can be joined again. (The slice methods `split_at` and `chunks` borrow.)
impl<T: DType, S: StreamTag> HostBuffer<T, S> {
    /// The elements before and from `mid`, as buffers of their own that share the block.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, HostBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let host = ctx.create_host_buffer_from(&[1u8, 2, 3, 4])?;
    /// let (low, high) = host.into_split_at(1)?;
    /// let high = high.enqueue_fill(9)?.synchronize()?;
    /// assert_eq!(HostBuffer::rejoin([low, high])?.as_span(), [1, 9, 9, 9]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`]; the buffer comes back.
    pub fn into_split_at(self, mid: usize) -> Result<(Self, Self), Fault<Self>> {
        if let Err(error) = resolve(&(..mid), self.len()) {
            return Err(Fault { error, value: self });
        }
        let (low, high) = self.into_region().split_at(mid);
        Ok((HostBuffer::from_region(low), HostBuffer::from_region(high)))
    }

    /// Pieces of `len` elements in order, the last one shorter if they do not fit. A buffer of no elements is its own
    /// only piece, so that [`rejoin`](HostBuffer::rejoin) always undoes this.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, HostBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let mut parts = ctx.create_host_buffer_from(&[1u8, 2, 3, 4, 5])?.into_chunks(2)?;
    /// assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 2, 1]);
    /// let last = parts.pop().unwrap().enqueue_fill(9)?; // one part is in flight,
    /// parts[0][0] = 7;                                  // the others are the host's
    /// parts.push(last.synchronize()?);
    /// assert_eq!(HostBuffer::rejoin(parts)?[..], [7, 2, 3, 4, 9]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyChunk`] if `len` is 0; the buffer comes back.
    pub fn into_chunks(self, len: usize) -> Result<Vec<Self>, Fault<Self>> {
        if len == 0 {
            return Err(Fault { error: Error::EmptyChunk, value: self });
        }
        let mut pieces = Vec::with_capacity(self.len().div_ceil(len).max(1));
        let mut rest = self.into_region();
        while rest.len() > len {
            let (piece, tail) = rest.split_at(len);
            pieces.push(HostBuffer::from_region(piece));
            rest = tail;
        }
        pieces.push(HostBuffer::from_region(rest));
        Ok(pieces)
    }

    /// Joins pieces that lie side by side in one block, in the order given. They may have been on different streams; all
    /// are idle. The result has the first piece's context.
    ///
    /// ```
    /// # use escrow::{Device, DeviceContext, Error, Fault, HostBuffer};
    /// # fn main() -> Result<(), escrow::Error> {
    /// # let ctx = DeviceContext::new(Device::cpu())?;
    /// let (low, high) = ctx.create_host_buffer_from(&[1u8, 2, 3])?.into_split_at(1)?;
    /// let Fault { error, value } = HostBuffer::rejoin([high, low]).unwrap_err(); // the wrong way round
    /// assert!(matches!(error, Error::NotAdjacent { index: 1 }));
    /// let whole = HostBuffer::rejoin(value.into_iter().rev().collect::<Vec<_>>())?;
    /// assert_eq!(whole[..], [1, 2, 3]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotAdjacent`] if there are no pieces, one is of another block, or there is a gap; all come back.
    pub fn rejoin(pieces: impl Into<Vec<Self>>) -> Result<Self, Fault<Vec<Self>>> {
        let pieces = pieces.into();
        let gap = (1..pieces.len()).find(|&i| !pieces[i - 1].region().meets(pieces[i].region()));
        if let Some(index) = gap.or(pieces.is_empty().then_some(0)) {
            return Err(Fault { error: Error::NotAdjacent { index }, value: pieces });
        }
        let mut pieces = pieces.into_iter().map(HostBuffer::into_region);
        let mut whole = pieces.next().expect("an empty list was refused above");
        pieces.for_each(|piece| whole.extend(piece));
        Ok(HostBuffer::from_region(whole))
    }
}
