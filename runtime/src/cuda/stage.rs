//! Pageable memory: a device never touches it. Our threads copy between it and pinned blocks, and have all left it when
//! the call returns, or its scope.

use std::collections::VecDeque;
use std::sync::Arc;

use super::core::Core;
use super::event::Event;
use crate::block::{BlockRef, Place};
use crate::cpu::memory;
use crate::device::Device;
use crate::error::{Error, Operation};
use crate::landing::{Landings, THREADS};
use crate::region::Admitted;

/// Bytes of a staging block.
const CHUNK: usize = 8 << 20;
/// Staging blocks of one copy: while the device works on some, our threads fill or empty the others.
const BLOCKS: usize = 4;
const OP: Operation = Operation::Copy;

/// The staging blocks that the stream is using, in order. Whatever becomes of the copy, they are parked in the end: the
/// stream keeps them until a wait has covered their use.
struct Staging<'a> {
    core: &'a Arc<Core>,
    busy: VecDeque<(BlockRef, Event)>,
}

impl Staging<'_> {
    fn new(core: &Arc<Core>) -> Staging<'_> {
        Staging { core, busy: VecDeque::new() }
    }

    /// A block that nothing uses.
    fn block(&self, bytes: usize) -> Result<BlockRef, Error> {
        let block = self.core.take(Place::Host, bytes)?;
        Ok(BlockRef::new(block, bytes, Device::of_cuda(self.core.device())))
    }

    /// Notes that the stream uses `block` up to here.
    fn used(&mut self, block: BlockRef) -> Result<(), Error> {
        match Event::record(self.core) {
            Ok(event) => {
                self.busy.push_back((block, event));
                Ok(())
            }
            Err(error) => {
                self.core.park(block);
                Err(error)
            }
        }
    }

    /// Waits for the oldest block.
    fn oldest(&mut self) -> Result<Option<BlockRef>, Error> {
        let Some((block, event)) = self.busy.pop_front() else { return Ok(None) };
        match event.wait(OP) {
            Ok(()) => Ok(Some(block)),
            Err(error) => {
                self.core.park(block);
                Err(error)
            }
        }
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        for (block, _) in self.busy.drain(..) {
            self.core.park(block);
        }
    }
}

/// The part of an operand that one staging block serves.
fn part(whole: Admitted, at: usize) -> Admitted {
    Admitted { ptr: whole.ptr.wrapping_add(at), ..whole }
}

fn staged(block: &BlockRef) -> Admitted {
    Admitted { place: Place::Host, ptr: block.base().as_ptr(), len: 0 }
}

/// Copies pageable memory to `dst`. When this returns `src` is no longer used; the device may still be copying.
///
/// # Safety
/// As for [`Core::copy`]; `src` has `bytes` bytes.
pub(super) unsafe fn upload(core: &Arc<Core>, dst: Admitted, src: *const u8, bytes: usize) -> Result<(), Error> {
    let mut staging = Staging::new(core);
    let mut at = 0;
    while at < bytes {
        let count = CHUNK.min(bytes - at);
        let block = match staging.busy.len() {
            BLOCKS => staging.oldest()?.map_or_else(|| staging.block(CHUNK), Ok)?,
            _ => staging.block(if bytes > CHUNK { CHUNK } else { count })?,
        };
        // SAFETY: the block has `count` bytes, which nothing uses; the source by the contract.
        unsafe { memory::copy(block.base().as_ptr(), src.add(at), count, THREADS) };
        // SAFETY: the block is pinned memory of `count` bytes that is kept until the stream has passed this; the
        // destination by the contract.
        let copied = unsafe { core.copy(part(dst, at), staged(&block), count, None) };
        if let Err(error) = copied {
            core.park(block);
            return Err(error);
        }
        at += count;
        if at < bytes || !staging.busy.is_empty() {
            staging.used(block)?;
        } else {
            core.park(block);
        }
    }
    Ok(())
}

/// Copies `src` to pageable memory. What fits into the staging blocks beside the other landings of the scope is there at
/// the scope's end; more is waited for here.
///
/// # Safety
/// As for [`Core::copy`]; `dst` has `bytes` bytes.
pub(super) unsafe fn download(
    core: &Arc<Core>,
    dst: *mut u8,
    src: Admitted,
    bytes: usize,
    landings: Option<&Landings>,
) -> Result<(), Error> {
    let mut staging = Staging::new(core);
    if let Some(landings) = landings
        && bytes <= CHUNK
        && landings.admit(bytes, BLOCKS * CHUNK)
    {
        let block = staging.block(bytes)?;
        // SAFETY: the block is pinned memory of `bytes` bytes that is kept until the stream has passed this (here, by the
        // landing until a wait has succeeded, or else by the stream); the source by the contract.
        let copied = unsafe { core.copy(staged(&block), src, bytes, None) };
        match copied {
            // SAFETY: the copy above writes the block; the destination by the contract.
            Ok(()) => unsafe { landings.add(dst, bytes, block) },
            Err(_) => core.park(block),
        }
        return copied;
    }
    let (mut asked, mut got) = (0, 0);
    while got < bytes {
        while asked < bytes && staging.busy.len() < BLOCKS {
            let count = CHUNK.min(bytes - asked);
            let block = staging.block(if bytes > CHUNK { CHUNK } else { count })?;
            // SAFETY: the block is pinned memory of `count` bytes that is kept until the stream has passed this; the
            // source by the contract.
            if let Err(error) = unsafe { core.copy(staged(&block), part(src, asked), count, None) } {
                core.park(block);
                return Err(error);
            }
            asked += count;
            staging.used(block)?;
        }
        let Some(block) = staging.oldest()? else { break };
        let count = CHUNK.min(bytes - got);
        // SAFETY: the stream has written the block; the destination by the contract.
        unsafe { memory::copy(dst.add(got), block.base().as_ptr(), count, THREADS) };
        got += count;
    }
    Ok(())
}
