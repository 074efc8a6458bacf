//! A CUDA stream.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::device::{CudaDevice, lock};
use super::event::Event;
use super::memory::{self, Allocation, address};
use super::module::Function;
use super::raw::{self, CUevent, CUfunction, CUstream, LaunchAttribute, LaunchConfig};
use super::{check, fill, stage};
use crate::block::{Block, BlockRef, Place, Storage};
use crate::error::{Error, Operation};
use crate::kernel::{Launch, wrong_geometry};
use crate::landing::Landings;
use crate::region::Admitted;

/// Parked on a stream that nobody waits for, this much makes it look by itself what has been passed.
const MANY_ENTRIES: usize = 1024;
const MANY_BYTES: usize = 64 << 20;
/// Blocks taken out under one lock.
const BATCH: usize = 16;

/// One stream: its handle, and what waits for it.
pub(crate) struct Core {
    device: &'static CudaDevice,
    raw: CUstream,
    /// The handle is somebody else's: it is not used behind the last context of it.
    foreign: bool,
    /// Recorded when the last handle goes; held from the start, so that only the record can fail then.
    end: CUevent,
    parked: Mutex<Parked>,
    /// Much is parked, or an event was recorded behind it.
    crowded: AtomicBool,
}

/// Counts that wait for the stream, numbered in the order in which they were parked.
#[derive(Default)]
struct Parked {
    /// Number of the first.
    first: u64,
    blocks: VecDeque<BlockRef>,
    bytes: usize,
    /// An event behind everything parked before a number, on a stream that nobody waits for.
    marker: Option<(CUevent, u64)>,
}

/// A stream without handles.
pub(super) struct Orphan {
    /// For reuse; `None` if it was somebody else's.
    raw: Option<CUstream>,
    end: CUevent,
    blocks: VecDeque<BlockRef>,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Orphan {}
// SAFETY: as above; the rest is locked or constant.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    /// A stream that is not ordered with the legacy stream: one without handles that has ended, or a new one.
    pub(crate) fn open(device: &'static CudaDevice) -> Result<Arc<Core>, Error> {
        if let Some((raw, end)) = device.take_ended() {
            return Ok(Core::of(device, raw, end, false));
        }
        let end = device.take_event()?;
        let mut raw = ptr::null_mut();
        let create = || {
            // SAFETY: the address is valid for the call.
            unsafe { raw::cuStreamCreateWithPriority(&raw mut raw, raw::STREAM_NON_BLOCKING, 0) }
        };
        if let Err(error) = check(Operation::Create, device.within(create)) {
            device.put_event(end);
            return Err(error);
        }
        Ok(Core::of(device, raw, end, false))
    }

    /// A stream of somebody else.
    ///
    /// # Safety
    /// It is a stream of the device's context, and lives until [`Core::close`] has returned.
    pub(super) unsafe fn borrow(device: &'static CudaDevice, raw: CUstream) -> Result<Arc<Core>, Error> {
        Ok(Core::of(device, raw, device.take_event()?, true))
    }

    fn of(device: &'static CudaDevice, raw: CUstream, end: CUevent, foreign: bool) -> Arc<Core> {
        Arc::new(Core { device, raw, foreign, end, parked: Mutex::default(), crowded: AtomicBool::new(false) })
    }

    pub(super) fn device(&self) -> &'static CudaDevice {
        self.device
    }

    pub(crate) fn raw(&self) -> CUstream {
        self.raw
    }

    #[inline]
    pub(crate) fn take(&self, place: Place, bytes: usize) -> Result<Box<Block>, Error> {
        memory::take(self.device, self.raw, place, bytes).or_else(|error| self.take_behind_wait(error, place, bytes))
    }

    /// What is parked on this stream may be what is missing. Waiting is no worse than the driver, whose own allocations
    /// may wait for the device.
    #[cold]
    #[inline(never)]
    fn take_behind_wait(&self, error: Error, place: Place, bytes: usize) -> Result<Box<Block>, Error> {
        if !matches!(error, Error::OutOfMemory { .. }) || self.synchronize(Operation::Create).is_err() {
            return Err(error);
        }
        self.device.trim();
        memory::take(self.device, self.raw, place, bytes)
    }

    /// Copies words to device memory, in the order of the stream.
    ///
    /// # Safety
    /// `dst` is device memory of this stream with room for them.
    pub(crate) unsafe fn write_words(&self, dst: *mut u8, words: &[u64]) -> Result<(), Error> {
        let bytes = size_of_val(words);
        // SAFETY: the caller's duty. Pageable memory has been read when the call returns, and is waited for all the same.
        let code = self
            .device
            .call_copy(|| unsafe { raw::cuMemcpyHtoDAsync_v2(address(dst), words.as_ptr().cast(), bytes, self.raw) });
        check(Operation::Copy, code)?;
        self.synchronize(Operation::Copy)
    }

    /// A copy of `count` words of device memory, in the order of the stream. **Blocks.**
    ///
    /// # Safety
    /// `src` is device memory of this stream that holds as many.
    pub(crate) unsafe fn read_words(&self, src: *const u8, count: usize) -> Result<Vec<u64>, Error> {
        let mut words = vec![0u64; count];
        let (to, from) = (words.as_mut_ptr(), address(src));
        // SAFETY: the caller's duty; the vector lives until a wait has succeeded (below).
        let copy = || unsafe { raw::cuMemcpyDtoHAsync_v2(to.cast(), from, count * 8, self.raw) };
        let copied = check(Operation::Copy, self.device.call_copy(copy)).and(self.synchronize(Operation::Copy));
        if let Err(error) = copied {
            std::mem::forget(words); // nobody knows whether the copy is still to come
            return Err(error);
        }
        Ok(words)
    }

    /// Zeroes device memory, in the order of the stream.
    ///
    /// # Safety
    /// `dst` is device memory of this stream of `bytes` bytes.
    pub(crate) unsafe fn zero(&self, dst: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: the caller's duty.
        check(Operation::Fill, self.device.call(|| unsafe { raw::cuMemsetD8Async(address(dst), 0, bytes, self.raw) }))
    }

    /// # Safety
    /// As for [`Stream::copy`](crate::stream::Stream::copy).
    #[inline(always)] // as `Stream::copy`
    pub(crate) unsafe fn copy(
        self: &Arc<Self>,
        dst: Admitted,
        src: Admitted,
        bytes: usize,
        landings: Option<&Landings>,
    ) -> Result<(), Error> {
        let (to, from, stream) = (dst.ptr, src.ptr, self.raw);
        if (dst.place, src.place) != (Place::Device, Place::Device) || !self.device.has_pools() {
            self.bound_parked();
        }
        // SAFETY: in each arm the operands are what the call takes them for (`Admitted::place`), and stay valid by this
        // function's contract.
        let code = match (dst.place, src.place) {
            (Place::Device, Place::Device) => {
                // SAFETY: see above.
                self.device
                    .call_copy(move || unsafe { raw::cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, stream) })
            }
            (Place::Device, Place::Host) => {
                // SAFETY: see above.
                self.device
                    .call_copy(move || unsafe { raw::cuMemcpyHtoDAsync_v2(address(to), from.cast(), bytes, stream) })
            }
            (Place::Host, Place::Device) => {
                // SAFETY: see above.
                self.device
                    .call_copy(move || unsafe { raw::cuMemcpyDtoHAsync_v2(to.cast(), address(from), bytes, stream) })
            }
            (Place::Host, Place::Host) => {
                // SAFETY: see above.
                self.device.call_copy(move || unsafe { raw::cuMemcpyAsync(address(to), address(from), bytes, stream) })
            }
            // SAFETY: see above.
            (_, Place::Lent) => return unsafe { stage::upload(self, dst, from, bytes) },
            // SAFETY: see above.
            (Place::Lent, _) => return unsafe { stage::download(self, to, src, bytes, landings) },
        };
        check(Operation::Copy, code)
    }

    /// # Safety
    /// As for [`Stream::fill`](crate::stream::Stream::fill).
    #[inline(always)] // one arm is left
    pub(crate) unsafe fn fill<E: Copy>(self: &Arc<Self>, dst: Admitted, value: E) -> Result<(), Error> {
        if dst.place != Place::Device || !self.device.has_pools() {
            self.bound_parked();
        }
        let (to, count, stream) = (address(dst.ptr), dst.len, self.raw);
        // SAFETY: the value has as many bytes as the number; elements have no padding (`DType`). The memory is `count`
        // elements for this stream to write, aligned as elements are, which may be less than the number's size: then the
        // fill goes by bytes.
        let code = match size_of::<E>() {
            1 => {
                // SAFETY: see above.
                let value = unsafe { std::mem::transmute_copy::<E, u8>(&value) };
                // SAFETY: see above.
                self.device.call(move || unsafe { raw::cuMemsetD8Async(to, value, count, stream) })
            }
            2 if to.is_multiple_of(2) => {
                // SAFETY: see above.
                let value = unsafe { std::mem::transmute_copy::<E, u16>(&value) };
                // SAFETY: see above.
                self.device.call(move || unsafe { raw::cuMemsetD16Async(to, value, count, stream) })
            }
            4 if to.is_multiple_of(4) => {
                // SAFETY: see above.
                let value = unsafe { std::mem::transmute_copy::<E, u32>(&value) };
                // SAFETY: see above.
                self.device.call(move || unsafe { raw::cuMemsetD32Async(to, value, count, stream) })
            }
            size => {
                // SAFETY: see above.
                let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size) };
                // SAFETY: see above.
                return unsafe { fill::fill(self, dst, bytes) };
            }
        };
        check(Operation::Fill, code)
    }

    /// Enqueues a launch.
    ///
    /// # Safety
    /// `params` are as many pointers as the function has parameters, each to a value of its parameter's type; the memory
    /// that they name is the kernel's to use when the stream comes to it.
    #[inline(always)]
    pub(crate) unsafe fn launch(
        &self,
        function: CUfunction,
        launch: &Launch,
        params: *mut *mut c_void,
    ) -> Result<(), Error> {
        let ([gx, gy, gz], [bx, by, bz], shared, stream) = (launch.grid, launch.block, launch.shared, self.raw);
        // SAFETY: this function's contract; the driver copies the parameters before it returns.
        let code = self.device.call(move || unsafe {
            raw::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, ptr::null_mut())
        });
        check(Operation::Launch, code)
    }

    /// Whether the GPU admits a launch that asks for more than sizes.
    #[cold]
    pub(crate) fn admit_attributes(
        &self,
        function: &Function,
        kernel: &'static str,
        launch: Launch,
    ) -> Result<(), Error> {
        if launch.cluster != [1; 3] && self.device.capability() < (9, 0) {
            let condition = "this GPU has no clusters: they begin with compute capability 9.0".to_owned();
            return Err(wrong_geometry(kernel, condition, &launch));
        }
        if launch.cooperative {
            let most = function.max_blocks(Operation::Launch, self.device, &launch)?;
            let blocks: u64 = launch.grid.iter().fold(1, |all, &n| all.saturating_mul(u64::from(n)));
            if blocks > u64::from(most) {
                let condition = format!(
                    "a cooperative grid of {:?} blocks is more than this GPU runs at the same time: {most} in all",
                    launch.grid
                );
                return Err(wrong_geometry(kernel, condition, &launch));
            }
        }
        Ok(())
    }

    /// Enqueues a launch that asks for more than sizes.
    ///
    /// # Safety
    /// As for [`launch`](Core::launch).
    #[cold]
    pub(crate) unsafe fn launch_with_attributes(
        &self,
        function: CUfunction,
        launch: Launch,
        params: *mut *mut c_void,
    ) -> Result<(), Error> {
        const OP: Operation = Operation::Launch;
        let why = "cooperative launches and clusters need a driver of CUDA 11.8 or newer";
        let launch_it = raw::launch_kernel_ex().ok_or(Error::Refused { op: OP, why })?;
        let mut attributes = Vec::new();
        if launch.cooperative {
            attributes.push(LaunchAttribute::COOPERATIVE);
        }
        if launch.cluster != [1; 3] {
            attributes.push(LaunchAttribute::cluster(launch.cluster));
        }
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            stream: self.raw,
            attributes: attributes.as_mut_ptr(),
            count: attributes.len() as u32,
        };
        // SAFETY: this function's contract; the driver copies attributes and parameters before it returns.
        check(OP, self.device.call(|| unsafe { launch_it(&raw const config, function, params, ptr::null_mut()) }))
    }

    pub(crate) fn wait_for(&self, what: Operation, event: &Event) -> Result<(), Error> {
        if event.is_on(self) {
            return Ok(());
        }
        self.wait_for_raw(what, event.raw())
    }

    fn wait_for_raw(&self, what: Operation, event: CUevent) -> Result<(), Error> {
        // SAFETY: both handles live, and the event is recorded.
        check(what, self.device.call(|| unsafe { raw::cuStreamWaitEvent(self.raw, event, 0) }))
    }

    pub(crate) fn synchronize(&self, what: Operation) -> Result<(), Error> {
        // Before the wait: what is parked during it may be in use by operations that it does not cover.
        let covers = self.parked();
        // SAFETY: the stream lives.
        check(what, self.device.call(|| unsafe { raw::cuStreamSynchronize(self.raw) }))?;
        self.release(covers);
        self.device.sweep_if_any();
        Ok(())
    }

    /// Number of the next block to be parked.
    pub(super) fn parked(&self) -> u64 {
        let parked = lock(&self.parked);
        parked.first + parked.blocks.len() as u64
    }

    /// Drops what was parked before number `covers`, which the stream has passed, outside of the lock that a drop takes.
    pub(super) fn release(&self, covers: u64) {
        loop {
            let mut batch: [Option<BlockRef>; BATCH] = [const { None }; BATCH];
            let mut taken = 0;
            {
                let mut parked = lock(&self.parked);
                while taken < BATCH && parked.first < covers {
                    let Some(block) = parked.blocks.pop_front() else { break };
                    parked.first += 1;
                    parked.bytes -= block.capacity();
                    batch[taken] = Some(block);
                    taken += 1;
                }
                self.note_crowd(&parked);
            }
            drop(batch);
            if taken < BATCH {
                return;
            }
        }
    }

    /// Keeps `block` until the stream has passed what is enqueued; pool memory is freed in stream order instead.
    pub(crate) fn park(&self, block: BlockRef) {
        if matches!(block.storage(), Storage::Driver(Allocation::Pool)) {
            self.free_in_order(block);
            return;
        }
        if matches!(block.storage(), Storage::Driver(Allocation::Foreign)) {
            return; // its owner answers for what is pending
        }
        let mut parked = lock(&self.parked);
        parked.bytes += block.capacity();
        parked.blocks.push_back(block);
        self.note_crowd(&parked);
    }

    fn note_crowd(&self, parked: &Parked) {
        let many = parked.blocks.len() > MANY_ENTRIES || parked.bytes > MANY_BYTES;
        self.crowded.store(many || parked.marker.is_some(), Ordering::Relaxed);
    }

    #[inline]
    fn free_in_order(&self, block: BlockRef) {
        let Some(mut block) = block.into_last() else { return };
        // Where an end cannot be waited for, the memory leaks.
        if block.ends().is_empty() || self.wait_for_ends(block.ends()) {
            let (base, stream) = (address(block.base().as_ptr()), self.raw);
            // SAFETY: the memory is of the device's pool, and nothing uses it behind what is enqueued here.
            let _ = self.device.call(move || unsafe { raw::cuMemFreeAsync(base, stream) });
        }
        block.end();
    }

    #[cold]
    #[inline(never)]
    fn wait_for_ends(&self, ends: &[crate::stream::Event]) -> bool {
        ends.iter().all(|end| match end {
            crate::stream::Event::Cuda(end) => self.wait_for(Operation::Share, end).is_ok(),
            crate::stream::Event::Cpu(_) => true,
        })
    }

    /// Keeps what is parked bounded on a stream that nobody waits for: one event behind much, and a look at it later.
    #[inline]
    fn bound_parked(&self) {
        if self.crowded.load(Ordering::Relaxed) {
            self.look_at_parked();
        }
    }

    #[cold]
    fn look_at_parked(&self) {
        let mut parked = lock(&self.parked);
        if let Some((event, covers)) = parked.marker {
            // SAFETY: the event is recorded, and this stream's alone.
            if self.device.call(|| unsafe { raw::cuEventQuery(event) }) == 0 {
                parked.marker = None;
                drop(parked);
                self.device.put_event(event);
                self.release(covers);
            }
            return;
        }
        let covers = parked.first + parked.blocks.len() as u64;
        let Ok(event) = self.device.take_event() else { return };
        // SAFETY: both handles are of this device.
        if self.device.call(|| unsafe { raw::cuEventRecord(event, self.raw) }) == 0 {
            parked.marker = Some((event, covers));
        } else {
            drop(parked);
            self.device.destroy_event(event);
        }
    }

    /// The last handle is gone: the stream waits on its device for reuse, with what is parked. Of a stream that is
    /// somebody else's only the event and what is parked wait there.
    pub(crate) fn close(&self) {
        let parked = std::mem::take(&mut *lock(&self.parked));
        if let Some((event, _)) = parked.marker {
            self.device.put_event(event);
        }
        if self.foreign && parked.blocks.is_empty() {
            self.device.put_event(self.end);
            return;
        }
        // SAFETY: both handles live.
        let code = self.device.call(|| unsafe { raw::cuEventRecord(self.end, self.raw) });
        if code == 0 {
            let orphan = Orphan { raw: (!self.foreign).then_some(self.raw), end: self.end, blocks: parked.blocks };
            let mut orphans = lock(&self.device.orphans);
            if !orphan.blocks.is_empty() {
                self.device.orphaned.store(true, Ordering::Relaxed);
            }
            orphans.push_back(orphan);
        } else {
            // When the stream is done cannot be told any more.
            std::mem::forget(parked.blocks);
        }
    }
}

impl CudaDevice {
    /// Stream and end event of a stream without handles that has done all its work; what was parked on it is dropped.
    fn take_ended(&self) -> Option<(CUstream, CUevent)> {
        let ended = {
            let mut orphans = lock(&self.orphans);
            let at = orphans.iter().position(|orphan| orphan.raw.is_some() && self.has_ended(orphan))?;
            orphans.remove(at)?
        };
        Some((ended.raw?, ended.end))
    }

    fn has_ended(&self, orphan: &Orphan) -> bool {
        // SAFETY: the event was recorded by `close`.
        self.call(|| unsafe { raw::cuEventQuery(orphan.end) }) == 0
    }

    /// Drops what is parked on streams without handles that have done all their work.
    pub(super) fn sweep(&self) {
        let mut passed = Vec::new();
        let mut orphans = lock(&self.orphans);
        orphans.retain_mut(|orphan| {
            let ended = !orphan.blocks.is_empty() && self.has_ended(orphan);
            if ended {
                passed.append(&mut Vec::from(std::mem::take(&mut orphan.blocks)));
            }
            if ended && orphan.raw.is_none() {
                self.put_event(orphan.end);
                return false;
            }
            true
        });
        self.orphaned.store(orphans.iter().any(|orphan| !orphan.blocks.is_empty()), Ordering::Relaxed);
        drop(orphans);
        drop(passed);
    }

    /// [`sweep`](CudaDevice::sweep) if something is parked on a stream without handles.
    #[inline]
    pub(super) fn sweep_if_any(&self) {
        if self.orphaned.load(Ordering::Relaxed) {
            self.sweep();
        }
    }
}
