//! Operations of a stream, and what happens when one runs.
//!
//! Accesses are checked when they happen. The order in which operations run respects every edge, so two accesses
//! without an edge are found whichever runs first.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use crate::abi::CUresult;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::memory::{DEVICE_BASE, PENDING, Place};
use crate::module::Launch;
use crate::report::Kind as Finding;
use crate::shadow::Access;

/// One side of a copy.
#[derive(Debug)]
pub(crate) enum End {
    /// In a block.
    Block(u64),
    /// Pageable memory; the operation runs before the call returns.
    Raw(usize),
    /// Pageable memory, staged at the call.
    Bytes(Box<[u8]>),
}

/// A host function and its argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HostCall {
    /// `cuLaunchHostFunc`.
    Function(unsafe extern "C" fn(*mut c_void), usize),
    /// `cuStreamAddCallback`.
    Callback(unsafe extern "C" fn(crate::abi::CUstream, CUresult, *mut c_void), u64, usize),
}

/// What an operation does.
#[derive(Debug)]
pub(crate) enum Kind {
    Copy { dst: End, src: End, len: u64 },
    Fill { dst: u64, pattern: u32, width: u8, count: u64 },
    Free { base: u64 },
    Record { event: u64 },
    Wait { stream: u64, serial: u64 },
    Host(HostCall),
    Launch(Box<Launch>),
    Nothing,
}

/// An operation.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) serial: u64,
    pub(crate) call: &'static str,
    /// What it comes after.
    pub(crate) clock: Arc<Clock>,
    pub(crate) kind: Kind,
}

impl Kind {
    /// The addresses whose blocks count this operation as pending.
    fn uses(&self) -> [Option<u64>; 2] {
        let block = |end: &End| if let End::Block(at) = end { Some(*at) } else { None };
        match self {
            Kind::Copy { dst, src, .. } => [block(dst), block(src)],
            Kind::Fill { dst, .. } => [Some(*dst), None],
            _ => [None, None],
        }
    }
}

impl Driver {
    /// Checks at the call that a range lies in one live block, and tells its context.
    pub(crate) fn range(&mut self, address: u64, len: u64, what: &str) -> Result<u64, CUresult> {
        let Some(block) = self.memory.find(address) else {
            let text = format!("{what} {len} bytes at {address:#x}, where no block is");
            let kind = if self.memory.was_freed(address) { Finding::UseAfterFree } else { Finding::NotAllocated };
            self.complain(kind, &text);
            return Err(crate::abi::INVALID_VALUE);
        };
        let (base, size, ctx, freeing) = (block.base, block.len, block.ctx, block.freeing);
        if len > size - (address - base) {
            let text = format!("{what} {len} bytes at offset {} of a block of {size}", address - base);
            self.complain(Finding::OutOfBounds, &text);
            return Err(crate::abi::INVALID_VALUE);
        }
        if let Some(free) = freeing {
            let text = format!("{what} {len} bytes at {address:#x}, freed by {} (op {})", free.call, free.serial);
            self.complain(Finding::UseAfterFree, &text);
            return Err(crate::abi::INVALID_VALUE);
        }
        Ok(ctx)
    }

    /// Whether an address can only be a device's.
    pub(crate) fn is_device_address(address: u64) -> bool {
        address >= DEVICE_BASE
    }

    /// Counts the operation on its blocks, and scrambles pinned memory that it will write, so that reading it early
    /// shows.
    pub(crate) fn hold(&mut self, kind: &Kind) {
        let quiet = self.pending_launches == 0;
        let written = match kind {
            Kind::Copy { dst: End::Block(dst), len, .. } => Some((*dst, *len)),
            Kind::Fill { dst, width, count, .. } => Some((*dst, count * u64::from(*width))),
            _ => None,
        };
        if let Some((address, len)) = written
            && let Some(block) = self.memory.find(address).filter(|b| b.is_host() && quiet && b.pending == 0)
        {
            // SAFETY: `range` checked the range. No pending operation uses the block, and the host has given the
            // range up: it is about to be overwritten.
            unsafe { block.scramble(address - block.base, len, PENDING) };
        }
        for address in kind.uses().into_iter().flatten() {
            if let Some(block) = self.memory.find_mut(address) {
                block.pending += 1;
            }
        }
        match kind {
            Kind::Launch(_) => self.pending_launches += 1,
            Kind::Host(_) => self.pending_host += 1,
            _ => {}
        }
    }

    /// Undoes `hold`.
    pub(crate) fn release(&mut self, kind: &Kind) {
        for address in kind.uses().into_iter().flatten() {
            if let Some(block) = self.memory.find_mut(address) {
                block.pending = block.pending.saturating_sub(1);
            }
        }
        match kind {
            Kind::Launch(_) => self.pending_launches -= 1,
            Kind::Host(_) => self.pending_host -= 1,
            _ => {}
        }
    }

    /// An operation of a failed context: it only gives back what it holds.
    pub(crate) fn discard(&mut self, op: &Op) {
        self.release(&op.kind);
        if let Kind::Free { base } = op.kind {
            self.free_block(base);
        }
    }

    /// Checks and notes an access of an operation that runs now; gives the bytes.
    pub(crate) fn touch(&mut self, address: u64, len: u64, write: bool, who: Access, clock: &Clock) -> Option<*mut u8> {
        let verb = if write { "writes" } else { "reads" };
        let initcheck = self.settings.initcheck;
        let Some(block) = self.memory.find_mut(address).filter(|b| len <= b.len - (address - b.base)) else {
            let kind = if self.memory.was_freed(address) { Finding::UseAfterFree } else { Finding::NotAllocated };
            let text = format!(
                "{} (op {}) {verb} {len} bytes at {address:#x} when it runs, and no block is there",
                who.call, who.serial
            );
            self.report(kind, &text);
            return None;
        };
        let offset = address - block.base;
        let found = if write {
            block.shadow.write(offset, offset + len, who, clock)
        } else {
            block.shadow.read(offset, offset + len, who, clock)
        };
        let (data, size, host) = (block.at(offset), block.len, block.is_host());
        if found.conflict.is_some() || found.unwritten && initcheck {
            let place = if host { "pinned" } else { "device" };
            let what = format!("{verb} {len} bytes at offset {offset} of a {place} block of {size} bytes");
            if let Some((other, wrote)) = found.conflict {
                self.report_pair(Finding::Race, who, &what, other, if wrote { "writes" } else { "reads" });
            }
            if found.unwritten && initcheck {
                let text = format!("{} (op {}) {what}, of which some were never written", who.call, who.serial);
                self.report(Finding::Unwritten, &text);
            }
        }
        Some(data)
    }

    /// Reports two accesses without an edge.
    #[cold]
    pub(crate) fn report_pair(&mut self, kind: Finding, who: Access, what: &str, other: Access, verb: &str) {
        let mut text = format!("{} (op {}, stream {:#x}) {what}; ", who.call, who.serial, self.owner(who.slot));
        let _ = write!(text, "{} (op {}, stream {:#x}) {verb} them", other.call, other.serial, self.owner(other.slot));
        text.push_str(", and nothing orders the two");
        self.report(kind, &text);
    }

    /// Takes a block out and gives its bytes back.
    pub(crate) fn free_block(&mut self, base: u64) {
        let Some(block) = self.memory.remove(base) else { return };
        if let Place::Device { pool } = block.place {
            if let Some(device) = self.devices.get_mut(block.device as usize) {
                device.used -= block.len;
            }
            if let Some(pool) = self.pools.get_mut(pool) {
                pool.used -= block.len;
            }
        }
    }

    /// Runs one operation that is no host function.
    pub(crate) fn execute(&mut self, stream: u64, op: Op) {
        let Some((slot, ctx)) = self.streams.get(stream).map(|s| (s.slot, s.ctx)) else { return };
        let who = Access { slot, serial: op.serial, call: op.call };
        self.release(&op.kind);
        match op.kind {
            Kind::Copy { dst, src, len } => self.copy(&dst, &src, len, who, &op.clock),
            Kind::Fill { dst, pattern, width, count } => self.fill(dst, pattern, width, count, who, &op.clock),
            Kind::Free { base } => {
                let pending = self.memory.get_mut(base).and_then(|b| b.shadow.pending(|a| a.before(slot, &op.clock)));
                if let Some((other, wrote)) = pending {
                    let verb = if wrote { "writes to" } else { "reads" };
                    self.report_pair(Finding::FreeInUse, who, "frees a block", other, verb);
                }
                self.free_block(base);
            }
            Kind::Record { event } => {
                if let Some(event) = self.events.get_mut(event)
                    && event.capture.as_ref().is_some_and(|c| c.serial == op.serial)
                {
                    event.time = Some(Instant::now());
                }
            }
            Kind::Launch(_) if self.dry => {}
            Kind::Launch(launch) => {
                if let Err(code) = launch.run(self, who, &op.clock) {
                    self.fail_context(ctx, code);
                }
            }
            Kind::Wait { .. } | Kind::Host(_) | Kind::Nothing => {}
        }
    }

    fn copy(&mut self, dst: &End, src: &End, len: u64, who: Access, clock: &Clock) {
        let from = match src {
            End::Block(at) => self.touch(*at, len, false, who, clock),
            End::Raw(at) => Some(std::ptr::with_exposed_provenance_mut(*at)),
            End::Bytes(bytes) => Some(bytes.as_ptr().cast_mut()),
        };
        let to = match dst {
            End::Block(at) => self.touch(*at, len, true, who, clock),
            End::Raw(at) => Some(std::ptr::with_exposed_provenance_mut(*at)),
            End::Bytes(_) => None,
        };
        if let (Some(from), Some(to), false) = (from, to, self.dry) {
            // SAFETY: `touch` found both ranges in live blocks; raw memory is the caller's, who waits in the call.
            // `copy`, since a range may alias itself in a program that was reported for it.
            unsafe { std::ptr::copy(from.cast_const(), to, len as usize) };
        }
    }

    #[allow(clippy::cast_ptr_alignment, reason = "unaligned writes")]
    fn fill(&mut self, dst: u64, pattern: u32, width: u8, count: u64, who: Access, clock: &Clock) {
        let Some(to) = self.touch(dst, count * u64::from(width), true, who, clock) else { return };
        let count = if self.dry { 0 } else { count as usize };
        // SAFETY: `touch` found the range in a live block. The call checked the address's alignment for wider
        // elements, and `write_unaligned` does not need it.
        unsafe {
            match width {
                1 => to.write_bytes(pattern as u8, count),
                2 => (0..count).for_each(|i| to.cast::<u16>().add(i).write_unaligned(pattern as u16)),
                _ => (0..count).for_each(|i| to.cast::<u32>().add(i).write_unaligned(pattern)),
            }
        }
    }
}
