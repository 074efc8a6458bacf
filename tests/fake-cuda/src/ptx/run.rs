//! A launch: blocks one after the other, their threads in turn, warps and barriers, and the checks of what they touch.

use super::Grid;
use super::block::{Block, State, Thread};
use super::ir::*;
use super::race::{Conflict, Mark, Touched};
use crate::abi::*;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::report::Kind;
use crate::shadow;

/// Instructions after which a launch counts as hung.
const LIMIT: u64 = 1 << 32;

/// The end of a launch, with the context's error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop(pub(super) CUresult);

/// One access of a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) align: u32,
    pub(super) write: bool,
    pub(super) atomic: bool,
}

/// A block of memory that was looked up before.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    base: u64,
    len: u64,
    data: usize,
}

/// A launch that runs.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    driver: &'a mut Driver,
    pub(super) entry: &'a Entry,
    pub(super) grid: Grid,
    pub(super) params: Vec<u8>,
    /// Threads of a block.
    pub(super) threads: u32,
    pub(super) steps: u64,
    who: shadow::Access,
    known: [Known; 4],
    victim: usize,
    global: Touched,
    shared: Touched,
    /// One report of a kind is enough: every other thread would make the same.
    reported: bool,
}

/// Runs a kernel.
pub(crate) fn run(
    driver: &mut Driver,
    entry: &Entry,
    grid: Grid,
    params: &[u8],
    who: shadow::Access,
    clock: &Clock,
) -> Result<(), CUresult> {
    let threads = grid.block.iter().product();
    let shared_check = !entry.fences && !entry.warp_sync;
    let mut launch = Launch {
        driver,
        entry,
        grid,
        params: params.to_vec(),
        threads,
        steps: 0,
        who,
        known: [Known::default(); 4],
        victim: 0,
        global: Touched::new(threads, !entry.fences),
        shared: Touched::new(threads, shared_check),
        reported: false,
    };
    let result = launch.blocks();
    let ranges = launch.global.ranges();
    for (ranges, write) in ranges.into_iter().zip([false, true]) {
        for (from, to) in ranges {
            launch.driver.touch_all(from, to, write, who, clock);
        }
    }
    result.map_err(|Stop(code)| code)
}

impl Driver {
    /// Checks a range that may go over several blocks.
    fn touch_all(&mut self, mut from: u64, to: u64, write: bool, who: shadow::Access, clock: &Clock) {
        while from < to {
            let end = self.memory.find(from).map_or(to, |b| to.min(b.base + b.len));
            self.touch(from, end - from, write, who, clock);
            from = end;
        }
    }
}

impl Launch<'_> {
    fn blocks(&mut self) -> Result<(), Stop> {
        let [gx, gy, gz] = self.grid.blocks;
        let (threads, entry) = (self.threads as usize, self.entry);
        let shared = (entry.shared_bytes.next_multiple_of(16) + self.grid.dynamic_shared) as usize;
        let mut block = Block {
            index: [0; 3],
            first: 0,
            phase: 0,
            threads: Vec::new(),
            registers: vec![0; threads * entry.registers as usize],
            shared: Vec::new(),
            local: Vec::new(),
        };
        for z in 0..gz {
            for y in 0..gy {
                for x in 0..gx {
                    block.index = [x, y, z];
                    block.phase = 0;
                    block.threads.clear();
                    block.threads.resize(threads, Thread { state: State::Running, pc: 0 });
                    block.registers.fill(0);
                    // What was there before is not defined.
                    block.shared.clear();
                    block.shared.resize(shared, crate::memory::FRESH);
                    block.local.clear();
                    block.local.resize(threads * entry.local_bytes as usize, crate::memory::FRESH);
                    self.shared.clear();
                    self.block(&mut block)?;
                    block.first = block.first.wrapping_add(self.threads);
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &mut Block) -> Result<(), Stop> {
        let count = self.threads as usize;
        loop {
            for thread in 0..count {
                if block.threads[thread].state == State::Running {
                    block.run_thread(self, thread)?;
                }
            }
            if self.steps > LIMIT {
                self.complain("does not end");
                return Err(Stop(LAUNCH_TIMEOUT));
            }
            let mut moved = false;
            for first in (0..count).step_by(32) {
                moved |= self.warp(block, first, (first + 32).min(count));
            }
            let all = |state| block.threads.iter().filter(|t| t.state == state).count();
            let (running, done, waiting) = (all(State::Running), all(State::Done), all(State::AtBarrier));
            if moved || running > 0 {
                continue;
            }
            if done == count {
                return Ok(());
            }
            if waiting + done < count {
                self.complain("is stuck: some threads of a warp wait for others that wait elsewhere or have ended");
                return Err(Stop(LAUNCH_TIMEOUT));
            }
            block.phase += 1;
            for thread in block.threads.iter_mut().filter(|t| t.state == State::AtBarrier) {
                thread.state = State::Running;
            }
        }
    }

    /// Does an operation of a warp if all threads that it names have come to it.
    fn warp(&mut self, block: &mut Block, first: usize, end: usize) -> bool {
        let Some(leader) = (first..end).find(|t| block.threads[*t].state == State::AtWarp) else { return false };
        let pc = block.threads[leader].pc;
        let Op::Warp(op) = self.entry.code[pc].op else { return false };
        let mask = block.value(self, leader, op.mask()) as u32;
        let named = |t: usize| mask >> (t - first) & 1 == 1;
        // Lanes that the block does not have, and those that ended, are not waited for.
        let live: Vec<usize> = (first..end).filter(|t| named(*t) && block.threads[*t].state != State::Done).collect();
        let here = |t: &usize| block.threads[*t].state == State::AtWarp && block.threads[*t].pc == pc;
        if !live.iter().all(here) {
            return false;
        }
        let results: Vec<(Option<u64>, bool)> =
            live.iter().map(|t| self.warp_value(block, op, first, *t, &live)).collect();
        for (thread, (value, valid)) in live.iter().zip(results) {
            match op {
                Warp::Shuffle { dst, valid: flag, .. } => {
                    if let Some(value) = value {
                        block.set(self.entry, *thread, dst, value);
                    }
                    if let Some(flag) = flag {
                        block.set(self.entry, *thread, flag, u64::from(valid));
                    }
                }
                Warp::Vote { dst, .. } => block.set(self.entry, *thread, dst, value.unwrap_or(0)),
                Warp::Sync { .. } => {}
            }
            block.threads[*thread] = Thread { state: State::Running, pc: pc + 1 };
        }
        true
    }

    /// What one lane gets, and whether its source lane was in range.
    fn warp_value(&self, block: &Block, op: Warp, first: usize, thread: usize, live: &[usize]) -> (Option<u64>, bool) {
        match op {
            Warp::Sync { .. } => (None, true),
            Warp::Vote { vote, pred, negated, .. } => {
                let holds = |t: &usize| (block.value(self, *t, pred) & 1 == 1) != negated;
                let count = live.iter().filter(|t| holds(t)).count();
                let value = match vote {
                    Vote::All => u64::from(count == live.len()),
                    Vote::Any => u64::from(count > 0),
                    Vote::Uni => u64::from(count == 0 || count == live.len()),
                    Vote::Ballot => live.iter().filter(|t| holds(t)).map(|t| 1 << (t - first)).sum(),
                };
                (Some(value), true)
            }
            Warp::Shuffle { mode, value, lane: by, clamp, .. } => {
                let lane = (thread - first) as u32;
                let (by, c) = (block.value(self, thread, by) as u32 & 31, block.value(self, thread, clamp) as u32);
                let (clamp, segment) = (c & 31, c >> 8 & 31);
                let most = (lane & segment) | (clamp & !segment);
                let least = lane & segment;
                let (source, valid) = match mode {
                    Shuffle::Up => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
                    Shuffle::Down => (lane + by, lane + by <= most),
                    Shuffle::Bfly => (lane ^ by, lane ^ by <= most),
                    Shuffle::Idx => {
                        let source = least | (by & !segment);
                        (source, source <= most)
                    }
                };
                let source = first + if valid { source } else { lane } as usize;
                // Of a lane that takes no part comes no defined value.
                let value = live.contains(&source).then(|| block.value(self, source, value) & 0xFFFF_FFFF);
                (Some(value.unwrap_or(0xDEAD_BEEF)), valid)
            }
        }
    }

    #[cold]
    fn complain(&mut self, what: &str) {
        let text = format!("{} (op {}): kernel {} {what}", self.who.call, self.who.serial, self.entry.name);
        self.driver.report(Kind::BadLaunch, &text);
    }

    #[cold]
    pub(super) fn misaligned(&mut self, access: Access, line: u32) -> Stop {
        self.complain(&format!("(line {line}) accesses {} bytes at {:#x}, misaligned", access.len, access.address));
        Stop(MISALIGNED_ADDRESS)
    }

    #[cold]
    pub(super) fn outside(&mut self, access: Access, line: u32) -> Stop {
        let what =
            format!("(line {line}) accesses {} bytes at {:#x}, outside of its memory", access.len, access.address);
        let text = format!("{} (op {}): kernel {} {what}", self.who.call, self.who.serial, self.entry.name);
        self.driver.report(Kind::OutOfBounds, &text);
        Stop(ILLEGAL_ADDRESS)
    }

    /// The bytes of an access of global memory.
    pub(super) fn global(&mut self, access: Access, mark: Mark, line: u32) -> Result<*mut u8, Stop> {
        let fits = |k: &&Known| access.address.wrapping_sub(k.base) < k.len;
        let known = self.known.iter().find(fits).copied();
        let known = match known {
            Some(known) => known,
            None => self.look_up(access, line)?,
        };
        let offset = access.address - known.base;
        if offset + u64::from(access.len) > known.len {
            return Err(self.outside(access, line));
        }
        let conflict = self.global.note(access.address, access.len, access.write, access.atomic, mark);
        self.check(conflict, access, mark, line, "global");
        Ok(std::ptr::with_exposed_provenance_mut(known.data + offset as usize))
    }

    #[cold]
    fn look_up(&mut self, access: Access, line: u32) -> Result<Known, Stop> {
        let Some(block) = self.driver.memory.find(access.address) else {
            let kind =
                if self.driver.memory.was_freed(access.address) { Kind::UseAfterFree } else { Kind::NotAllocated };
            let verb = if access.write { "writes" } else { "reads" };
            let text = format!(
                "{} (op {}): kernel {} (line {line}) {verb} {} bytes at {:#x}, where no block is",
                self.who.call, self.who.serial, self.entry.name, access.len, access.address
            );
            self.driver.report(kind, &text);
            return Err(Stop(ILLEGAL_ADDRESS));
        };
        let known = Known { base: block.base, len: block.len, data: block.at(0).expose_provenance() };
        let (owner, ctx) = (block.ctx, self.driver.ctx_of(self.driver.owner(self.who.slot)));
        let device = |c| self.driver.contexts.get(c).map(|c| c.device);
        let reachable = block.is_host()
            || device(owner) == device(ctx)
            || self.driver.contexts.get(ctx).is_some_and(|c| c.peers.contains(&owner));
        if !reachable {
            let what =
                format!("kernel {} (line {line}) uses memory of another device without peer access", self.entry.name);
            self.driver.report(Kind::WrongContext, &what);
            return Err(Stop(ILLEGAL_ADDRESS));
        }
        self.known[self.victim % 4] = known;
        self.victim += 1;
        Ok(known)
    }

    /// Notes an access of the block's shared memory.
    pub(super) fn shared_access(&mut self, access: Access, mark: Mark, line: u32) {
        let conflict = self.shared.note(access.address, access.len, access.write, access.atomic, mark);
        self.check(conflict, access, mark, line, "shared");
    }

    fn check(&mut self, conflict: Option<Conflict>, access: Access, mark: Mark, line: u32, memory: &str) {
        let Some((byte, other, wrote)) = conflict.filter(|_| !self.reported) else { return };
        self.reported = true;
        let verb = if access.write { "writes" } else { "reads" };
        let did = if wrote { "wrote" } else { "read" };
        let text = format!(
            "{} (op {}): kernel {} (line {line}): thread {} {verb} byte {byte:#x} of {memory} memory that thread {other} {did}, \
             and no barrier orders the two",
            self.who.call,
            self.who.serial,
            self.entry.name,
            mark.thread - 1
        );
        self.driver.report(Kind::Race, &text);
    }
}
