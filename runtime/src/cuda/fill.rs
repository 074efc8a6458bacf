//! Fills of any width.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::check;
use super::core::Core;
use super::device::CudaDevice;
use super::memory::address;
use super::module;
use super::raw::{self, CUfunction};
use crate::block::Place;
use crate::error::{Error, Operation};
use crate::kernel::Launch;
use crate::region::Admitted;

const OP: Operation = Operation::Fill;

/// The kernel for patterns that no memset has, with a zero behind it as the driver wants it.
const KERNEL: &str = concat!(include_str!("fill.ptx"), "\0");

const BLOCK: u32 = 256;
/// What a grid admits; beyond it each thread goes on in strides of the grid.
const MAX_BLOCKS: u64 = i32::MAX as u64;

/// Enqueues a fill of `dst` with copies of `element`.
///
/// # Safety
/// As for [`Core::fill`]: `dst` has `dst.len` elements of `element.len()` bytes.
pub(super) unsafe fn fill(core: &Arc<Core>, dst: Admitted, element: &[u8]) -> Result<(), Error> {
    let bytes = element.len() * dst.len;
    let (to, stream) = (address(dst.ptr), core.raw());
    // The shortest part that the element repeats.
    let period = [1, 2, 4, 8, 16].into_iter().find(|&period| {
        element.len().is_multiple_of(period) && element.chunks_exact(period).all(|part| part == &element[..period])
    });
    let number = |from: usize, to: usize| {
        let mut number = [0; 8];
        number[..to - from].copy_from_slice(&element[from..to]);
        u64::from_le_bytes(number)
    };
    let aligned = |to_what: usize| dst.ptr.addr().is_multiple_of(to_what);
    // SAFETY: in each arm, `to` is memory of `bytes` bytes for this stream to write, aligned as the call wants it.
    match period {
        // SAFETY: see above.
        Some(1) => check(OP, core.device().call(|| unsafe { raw::cuMemsetD8Async(to, element[0], bytes, stream) })),
        Some(2) if aligned(2) => {
            let value = number(0, 2) as u16;
            // SAFETY: see above.
            check(OP, core.device().call(|| unsafe { raw::cuMemsetD16Async(to, value, bytes / 2, stream) }))
        }
        Some(4) if aligned(4) => {
            let value = number(0, 4) as u32;
            // SAFETY: see above.
            check(OP, core.device().call(|| unsafe { raw::cuMemsetD32Async(to, value, bytes / 4, stream) }))
        }
        Some(8) if aligned(16) => {
            let value = number(0, 8);
            // SAFETY: see above.
            unsafe { by_kernel(core, to, bytes, value, value) }
        }
        // SAFETY: see above.
        Some(16) if aligned(16) => unsafe { by_kernel(core, to, bytes, number(0, 8), number(8, 16)) },
        // SAFETY: see above.
        _ => unsafe { by_copies(core, dst, element) },
    }
}

/// # Safety
/// `to` is a multiple of 16 and `bytes` of 8, and as for [`fill`].
unsafe fn by_kernel(core: &Arc<Core>, mut to: u64, bytes: usize, mut low: u64, mut high: u64) -> Result<(), Error> {
    let function = core.device().fill_kernel()?;
    let (mut count, mut rest) = ((bytes / 16) as u64, u64::from(!bytes.is_multiple_of(16)));
    let blocks = count.div_ceil(u64::from(BLOCK)).clamp(1, MAX_BLOCKS);
    let launch = Launch::new(blocks as u32, BLOCK);
    let mut params: [*mut c_void; 5] = [
        (&raw mut to).cast(),
        (&raw mut count).cast(),
        (&raw mut low).cast(),
        (&raw mut high).cast(),
        (&raw mut rest).cast(),
    ];
    // SAFETY: these are the parameters of `escrow_fill16`, which writes `16 * count + 8 * rest` bytes: all of the memory.
    unsafe { core.launch(function, &launch, params.as_mut_ptr()) }
}

/// One element by a staged copy, then twice as many from those that are there, and so on.
///
/// # Safety
/// As for [`fill`].
unsafe fn by_copies(core: &Arc<Core>, dst: Admitted, element: &[u8]) -> Result<(), Error> {
    let (size, bytes) = (element.len(), element.len() * dst.len);
    let lent = Admitted { place: Place::Lent, ptr: element.as_ptr().cast_mut(), len: 1 };
    // SAFETY: the memory has room for one element, and the element is used until the call returns only.
    unsafe { core.copy(dst, lent, size, None) }?;
    let mut written = size;
    while written < bytes {
        let count = written.min(bytes - written);
        let next = Admitted { ptr: dst.ptr.wrapping_add(written), ..dst };
        // SAFETY: source and destination lie in the memory, one behind the other.
        unsafe { core.copy(next, dst, count, None) }?;
        written += count;
    }
    Ok(())
}

impl CudaDevice {
    fn fill_kernel(&self) -> Result<CUfunction, Error> {
        if let Some(function) = self.fill.get() {
            return Ok(*function);
        }
        let functions = module::functions(self, KERNEL, &["escrow_fill16"])?;
        let function = functions.first().copied().unwrap_or(ptr::null_mut());
        Ok(*self.fill.get_or_init(|| function))
    }
}
