//! Puts and gets.

use super::context::ShmemContext;
use super::engine::{self, Strides, Transfer};
use super::exposed::Remote;
use super::pe::Pe;
use super::transport::Target;
use crate::dtype::{DType, Init};
use crate::error::{Error, Operation};
use crate::kernel::{DeviceRead, DeviceWrite};
use crate::operand::{SameElem, SameStream};
use crate::region::{Admitted, admit};
use crate::tag::StreamTag;

/// Elements at every `stride`-th place of `len`.
fn strided_len(op: Operation, len: usize, stride: usize) -> Result<usize, Error> {
    if stride == 0 {
        return Err(Error::Refused { op, why: "a stride of 0 elements would be one element over and over" });
    }
    Ok(len.div_ceil(stride))
}

impl<S: StreamTag> ShmemContext<S> {
    /// Address and place of remote memory, compared with the job's stream.
    #[inline]
    pub(super) fn admit_remote<D: Remote>(
        &self,
        op: Operation,
        remote: &D,
    ) -> Result<(Admitted, Option<Target>), Error> {
        let (candidate, entry) = remote.remote();
        let admitted = admit(op, self.context().stream(), candidate)?;
        Ok((admitted, engine::target(entry.0, admitted.ptr)))
    }

    /// Enqueues a copy of `src`, device memory of this PE, to `pe`'s copy of `dst`. Lengths must be equal. What it wrote is
    /// to be seen there behind the next barrier, or behind a signal. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let mine = job.context().enqueue_create_buffer::<u32>(2)?.enqueue_fill(job.my_pe() as u32 + 1)?;
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(3)?)?;
    ///     job.put(&mine, &open.slice(1..)?, job.next())?;
    ///     job.barrier_all(open)?.to_vec()
    /// })?;
    /// assert_eq!(got, [[0, 2, 2], [0, 1, 1]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::WrongStream`], [`Error::PeFailed`]; nothing was enqueued.
    #[inline]
    pub fn put<X: DeviceRead, D: Remote>(&self, src: &X, dst: &D, pe: Pe<'_>) -> Result<(), Error>
    where
        X::Elem: Init,
        D::Elem: SameElem<X::Elem>,
        X::Tag: SameStream<S>,
        D::Tag: SameStream<S>,
    {
        let (engine, stream) = self.engine_and_stream();
        let Some((what, bytes)) = self.compare_put(src, dst, pe)? else { return engine.check() };
        // SAFETY: `src` was admitted to this stream, as for a copy; the target lies in an allocation that this PE has not
        // dropped, so no PE frees it before this stream has passed the put.
        unsafe { engine.put(stream, what, bytes) }
    }

    /// Both sides of a put, compared, and how many bytes go over; `None` for no bytes.
    #[inline]
    pub(super) fn compare_put<X: DeviceRead, D: Remote>(
        &self,
        src: &X,
        dst: &D,
        pe: Pe<'_>,
    ) -> Result<Option<(Transfer, usize)>, Error> {
        const OP: Operation = Operation::Put;
        let (there, target) = self.admit_remote(OP, dst)?;
        let src = admit(OP, self.context().stream(), src.candidate())?;
        if src.len != there.len {
            return Err(Error::Length { op: OP, dst: there.len, src: src.len });
        }
        let put = target.map(|there| Transfer { here: src.ptr, there, pe: pe.world as usize });
        Ok(put.map(|put| (put, src.len * size_of::<X::Elem>())).filter(|(_, bytes)| *bytes > 0))
    }

    /// Enqueues a copy of `pe`'s copy of `src` to `dst`, device memory of this PE. Lengths must be equal. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let mut table = job.create_buffer_zeroed::<u32>(2)?;
    ///     table.enqueue_fill(job.my_pe() as u32 + 1)?;
    ///     let open = job.barrier_all(table)?;
    ///     let mut mine = job.context().enqueue_create_buffer_zeroed::<u32>(2)?;
    ///     job.get(&open, &mut mine, job.next())?;
    ///     job.barrier_all(open)?; // nobody changes it before all have read it
    ///     mine.to_vec()
    /// })?;
    /// assert_eq!(got, [[2, 2], [1, 1]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](ShmemContext::put).
    #[inline]
    pub fn get<X: Remote, D: DeviceWrite>(&self, src: &X, dst: &mut D, pe: Pe<'_>) -> Result<(), Error>
    where
        D::Elem: SameElem<X::Elem>,
        D::Tag: SameStream<S>,
        X::Tag: SameStream<S>,
    {
        const OP: Operation = Operation::Get;
        let (there, target) = self.admit_remote(OP, src)?;
        let dst = admit(OP, self.context().stream(), dst.candidate())?;
        if dst.len != there.len {
            return Err(Error::Length { op: OP, dst: dst.len, src: there.len });
        }
        let (engine, stream) = self.engine_and_stream();
        let (Some(there), true) = (target, dst.len > 0) else { return engine.check() };
        let what = Transfer { here: dst.ptr, there, pe: pe.world as usize };
        // SAFETY: as for `put`.
        unsafe { engine.get(stream, what, dst.len * size_of::<X::Elem>()) }
    }

    /// Enqueues a put of elements 0, `src_stride`, 2 `src_stride`, ... of `src` to the places 0, `dst_stride`, 2
    /// `dst_stride`, ... of `pe`'s copy of `dst`. There must be as many of the one as of the other. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let mine = job.context().enqueue_create_buffer::<u8>(3)?.copy_from_slice(&[1, 2, 3])?;
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u8>(6)?)?;
    ///     job.put_strided((&mine, 1), (&open, 2), job.next())?; // a row becomes a column
    ///     job.barrier_all(open)?.to_vec()
    /// })?;
    /// assert_eq!(got, [[1, 0, 2, 0, 3, 0]; 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put`](ShmemContext::put); [`Error::Refused`] for a stride of 0.
    pub fn put_strided<X: DeviceRead, D: Remote>(
        &self,
        (src, src_stride): (&X, usize),
        (dst, dst_stride): (&D, usize),
        pe: Pe<'_>,
    ) -> Result<(), Error>
    where
        X::Elem: Init,
        D::Elem: SameElem<X::Elem>,
        X::Tag: SameStream<S>,
        D::Tag: SameStream<S>,
    {
        const OP: Operation = Operation::Put;
        let (there, target) = self.admit_remote(OP, dst)?;
        let src = admit(OP, self.context().stream(), src.candidate())?;
        let (count, places) = (strided_len(OP, src.len, src_stride)?, strided_len(OP, there.len, dst_stride)?);
        if count != places {
            return Err(Error::Length { op: OP, dst: places, src: count });
        }
        let (engine, stream) = self.engine_and_stream();
        let Some(there) = target else { return engine.check() };
        let (what, size) = (Transfer { here: src.ptr, there, pe: pe.world as usize }, size_of::<X::Elem>());
        // Where there is one element at most, the step to the next is never taken, and may be too large to be one.
        let bytes = |stride: usize| stride.saturating_mul(size);
        let strides = Strides { here: bytes(src_stride), there: bytes(dst_stride), size, count };
        // SAFETY: as for `put`; each place lies in its memory (`strided_len`).
        unsafe { engine.put_strided(stream, what, strides) }
    }

    /// Enqueues a get of elements 0, `src_stride`, ... of `pe`'s copy of `src` to the places 0, `dst_stride`, ... of `dst`.
    /// There must be as many of the one as of the other. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer::<u8>(6)?.copy_from_slice(&[1, 2, 3, 4, 5, 6])?)?;
    ///     let mut mine = job.context().enqueue_create_buffer_zeroed::<u8>(3)?;
    ///     job.get_strided((&open, 2), (&mut mine, 1), job.next())?;
    ///     job.barrier_all(open)?;
    ///     mine.to_vec()
    /// })?;
    /// assert_eq!(got, [[1, 3, 5]; 2]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put_strided`](ShmemContext::put_strided).
    pub fn get_strided<X: Remote, D: DeviceWrite>(
        &self,
        (src, src_stride): (&X, usize),
        (dst, dst_stride): (&mut D, usize),
        pe: Pe<'_>,
    ) -> Result<(), Error>
    where
        D::Elem: SameElem<X::Elem>,
        D::Tag: SameStream<S>,
        X::Tag: SameStream<S>,
    {
        const OP: Operation = Operation::Get;
        let (there, target) = self.admit_remote(OP, src)?;
        let dst = admit(OP, self.context().stream(), dst.candidate())?;
        let (places, count) = (strided_len(OP, dst.len, dst_stride)?, strided_len(OP, there.len, src_stride)?);
        if count != places {
            return Err(Error::Length { op: OP, dst: places, src: count });
        }
        let (engine, stream) = self.engine_and_stream();
        let Some(there) = target else { return engine.check() };
        let (what, size) = (Transfer { here: dst.ptr, there, pe: pe.world as usize }, size_of::<X::Elem>());
        // Where there is one element at most, the step to the next is never taken, and may be too large to be one.
        let bytes = |stride: usize| stride.saturating_mul(size);
        let strides = Strides { here: bytes(dst_stride), there: bytes(src_stride), size, count };
        // SAFETY: as for `put`; each place lies in its memory (`strided_len`).
        unsafe { engine.get_strided(stream, what, strides) }
    }

    /// Enqueues a store of `value` to element `index` of `pe`'s copy of `dst`. Does not block.
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer_zeroed::<u32>(2)?)?;
    ///     job.p(job.my_pe() as u32 + 1, &open, 1, job.next())?;
    ///     job.barrier_all(open)?.to_vec()
    /// })?;
    /// assert_eq!(got, [[0, 2], [0, 1]]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::WrongStream`], [`Error::PeFailed`]; nothing was enqueued.
    #[inline]
    pub fn p<T: DType, D: Remote>(&self, value: T, dst: &D, index: usize, pe: Pe<'_>) -> Result<(), Error>
    where
        D::Elem: SameElem<T>,
        D::Tag: SameStream<S>,
    {
        const OP: Operation = Operation::Put;
        let target = self.element::<T, D>(OP, dst, index)?;
        let (engine, stream) = self.engine_and_stream();
        // SAFETY: as for `put`; the element lies in the memory (`element`).
        unsafe { engine.p(stream, value, target, pe.world as usize) }
    }

    /// Element `index` of `pe`'s copy of `src`. Waits for the stream. **Blocks.**
    ///
    /// ```
    /// # use escrow::{Error, shmem};
    /// let got = shmem::launch(2, |job| {
    ///     let open = job.barrier_all(job.create_buffer::<u32>(2)?.enqueue_fill(job.my_pe() as u32)?)?;
    ///     let value = job.g::<u32, _>(&open, 1, job.next())?;
    ///     job.barrier_all(open)?;
    ///     Ok(value)
    /// })?;
    /// assert_eq!(got, [1, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`p`](ShmemContext::p); what made the stream fail.
    pub fn g<T: DType, X: Remote>(&self, src: &X, index: usize, pe: Pe<'_>) -> Result<T, Error>
    where
        X::Elem: SameElem<T>,
        X::Tag: SameStream<S>,
    {
        const OP: Operation = Operation::Get;
        let target = self.element::<T, X>(OP, src, index)?;
        let (engine, stream) = self.engine_and_stream();
        // SAFETY: as for `put`; the element lies in the memory (`element`).
        unsafe { engine.g(stream, target, pe.world as usize) }
    }

    /// The place of an element.
    pub(super) fn element<T, D: Remote>(&self, op: Operation, remote: &D, index: usize) -> Result<Target, Error> {
        let (there, target) = self.admit_remote(op, remote)?;
        match target {
            Some(target) if index < there.len => Ok(target.at(index * size_of::<T>())),
            _ => Err(Error::Range { start: index, end: index.saturating_add(1), len: there.len }),
        }
    }
}
