//! One block of a launch: its threads' registers, and one thread's way to where it must wait.

use super::arith;
use super::ir::*;
use super::race::Mark;
use super::run::{Access, Launch, Stop};

/// Where generic addresses of shared and of local memory are.
pub(super) const SHARED_WINDOW: u64 = 0x00E0_0000_0000_0000;
pub(super) const LOCAL_WINDOW: u64 = 0x00E1_0000_0000_0000;
const WINDOW: u64 = 1 << 32;
/// Instructions after which another thread has its turn, so that threads may wait for each other.
const SLICE: u32 = 10_000;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Running,
    AtBarrier,
    /// At an operation of its warp.
    AtWarp,
    Done,
}

/// A thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thread {
    pub(super) state: State,
    pub(super) pc: usize,
}

/// A block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) index: [u32; 3],
    /// Threads of the blocks before.
    pub(super) first: u32,
    pub(super) phase: u32,
    pub(super) threads: Vec<Thread>,
    pub(super) registers: Vec<u64>,
    pub(super) shared: Vec<u8>,
    pub(super) local: Vec<u8>,
}

/// Where an access goes.
enum Target<'a> {
    Own(&'a mut [u8], u64),
    Global,
}

impl Block {
    fn reg(&mut self, entry: &Entry, thread: usize, reg: Reg) -> &mut u64 {
        &mut self.registers[thread * entry.registers as usize + reg as usize]
    }

    /// Sets a register.
    pub(super) fn set(&mut self, entry: &Entry, thread: usize, reg: Reg, value: u64) {
        *self.reg(entry, thread, reg) = value;
    }

    /// An operand's value.
    pub(super) fn value(&self, launch: &Launch<'_>, thread: usize, arg: Arg) -> u64 {
        match arg {
            Arg::Reg(reg) => self.registers[thread * launch.entry.registers as usize + reg as usize],
            Arg::Imm(value) => value,
            Arg::Special(special) => self.special(launch, thread as u32, special),
        }
    }

    fn special(&self, launch: &Launch<'_>, thread: u32, special: Special) -> u64 {
        let [x, y, _] = launch.grid.block;
        let lane = thread % 32;
        let mask = match special {
            Special::Tid(0) => thread % x,
            Special::Tid(1) => thread / x % y,
            Special::Tid(_) => thread / (x * y),
            Special::Ntid(axis) => launch.grid.block[axis as usize],
            Special::Ctaid(axis) => self.index[axis as usize],
            Special::Nctaid(axis) => launch.grid.blocks[axis as usize],
            Special::LaneId => lane,
            Special::WarpId => thread / 32,
            Special::WarpCount => launch.threads.div_ceil(32),
            Special::DynamicShared => launch.grid.dynamic_shared,
            Special::Clock => return launch.steps,
            Special::LaneMask(LaneMask::Eq) => 1 << lane,
            Special::LaneMask(LaneMask::Lt) => (1 << lane) - 1,
            Special::LaneMask(LaneMask::Le) => (1 << lane) | ((1 << lane) - 1),
            Special::LaneMask(LaneMask::Gt) => !((1 << lane) | ((1 << lane) - 1)),
            Special::LaneMask(LaneMask::Ge) => !((1 << lane) - 1),
        };
        u64::from(mask)
    }

    fn mark(&self, thread: usize) -> Mark {
        Mark { thread: self.first + thread as u32 + 1, phase: self.phase }
    }

    fn target<'a>(&'a mut self, launch: &'a mut Launch<'_>, thread: usize, space: Space, address: u64) -> Target<'a> {
        let local = launch.entry.local_bytes as usize;
        let space = match space {
            Space::Generic if address.wrapping_sub(SHARED_WINDOW) < WINDOW => Space::Shared,
            Space::Generic if address.wrapping_sub(LOCAL_WINDOW) < WINDOW => Space::Local,
            other => other,
        };
        match space {
            Space::Shared => Target::Own(&mut self.shared, address & (WINDOW - 1)),
            Space::Local => Target::Own(&mut self.local[thread * local..][..local], address & (WINDOW - 1)),
            Space::Param => Target::Own(&mut launch.params, address),
            Space::Generic | Space::Global => Target::Global,
        }
    }

    /// The bytes of one access, checked.
    fn bytes(&mut self, launch: &mut Launch<'_>, thread: usize, space: Space, access: Access) -> Result<*mut u8, Stop> {
        let (mark, line) = (self.mark(thread), launch.entry.code[self.threads[thread].pc].line);
        if !access.address.is_multiple_of(u64::from(access.align)) {
            return Err(launch.misaligned(access, line));
        }
        let own = match self.target(launch, thread, space, access.address) {
            Target::Global => None,
            Target::Own(memory, at) => {
                let end = at.checked_add(u64::from(access.len)).filter(|end| *end <= memory.len() as u64);
                Some((end.is_some(), at, memory.as_mut_ptr()))
            }
        };
        match own {
            None => launch.global(access, mark, line),
            Some((false, ..)) => Err(launch.outside(access, line)),
            Some((true, at, memory)) => {
                let shared = matches!(space, Space::Shared)
                    || space == Space::Generic && access.address.wrapping_sub(SHARED_WINDOW) < WINDOW;
                if shared {
                    launch.shared_access(Access { address: at, ..access }, mark, line);
                }
                // SAFETY: `at` plus the access's length is inside the memory.
                Ok(unsafe { memory.add(at as usize) })
            }
        }
    }

    fn load(&mut self, launch: &mut Launch<'_>, thread: usize, inst: &Inst) -> Result<(), Stop> {
        let Op::Load { space, ty, dst, at, atomic } = &inst.op else { return Ok(()) };
        let address = self.value(launch, thread, at.base).wrapping_add_signed(at.offset);
        let size = ty.size();
        let len = size * dst.len() as u32;
        // Parameters are where the list says, with the alignment of their type.
        let align = if *space == Space::Param { 1 } else { len };
        let access = Access { address, len, align, write: false, atomic: *atomic };
        let from = self.bytes(launch, thread, *space, access)?;
        for (i, dst) in dst.iter().enumerate() {
            // SAFETY: `bytes` found `len` bytes there.
            let value = unsafe { read(from.add(i * size as usize), size) };
            if let Some(dst) = dst {
                // Values narrower than the register are extended by their type.
                self.set(launch.entry, thread, *dst, arith::extend(*ty, value));
            }
        }
        Ok(())
    }

    fn store(&mut self, launch: &mut Launch<'_>, thread: usize, inst: &Inst) -> Result<(), Stop> {
        let Op::Store { space, ty, src, at, atomic } = &inst.op else { return Ok(()) };
        let address = self.value(launch, thread, at.base).wrapping_add_signed(at.offset);
        let size = ty.size();
        let len = size * src.len() as u32;
        let access = Access { address, len, align: len, write: true, atomic: *atomic };
        let to = self.bytes(launch, thread, *space, access)?;
        for (i, src) in src.iter().enumerate() {
            let value = self.value(launch, thread, *src);
            // SAFETY: `bytes` found `len` bytes there.
            unsafe { write(to.add(i * size as usize), size, value) };
        }
        Ok(())
    }

    fn atomic(&mut self, launch: &mut Launch<'_>, thread: usize, inst: &Inst) -> Result<(), Stop> {
        let Op::Atomic { space, op, ty, dst, at, b, c } = inst.op else { return Ok(()) };
        let address = self.value(launch, thread, at.base).wrapping_add_signed(at.offset);
        let (b, c) = (self.value(launch, thread, b), self.value(launch, thread, c));
        let access = Access { address, len: ty.size(), align: ty.size(), write: true, atomic: true };
        let place = self.bytes(launch, thread, space, access)?;
        // SAFETY: `bytes` found the bytes there; one thread runs at a time.
        unsafe {
            let old = read(place, ty.size());
            write(place, ty.size(), arith::atomic(op, ty, old, b, c));
            if let Some(dst) = dst {
                self.set(launch.entry, thread, dst, arith::extend(ty, old));
            }
        }
        Ok(())
    }

    /// Runs a thread until it must wait, ends, or has had its slice.
    pub(super) fn run_thread(&mut self, launch: &mut Launch<'_>, thread: usize) -> Result<(), Stop> {
        let entry = launch.entry;
        for _ in 0..SLICE {
            let pc = self.threads[thread].pc;
            let Some(inst) = entry.code.get(pc) else {
                self.threads[thread].state = State::Done;
                return Ok(());
            };
            launch.steps += 1;
            let skip = inst.guard.is_some_and(|(reg, value)| (*self.reg(entry, thread, reg) & 1 == 1) != value);
            if !skip {
                match self.step(launch, thread, inst)? {
                    None => {}
                    Some(Next::Jump(to)) => {
                        self.threads[thread].pc = to;
                        continue;
                    }
                    // The warp operation moves on by itself.
                    Some(Next::Wait(State::AtWarp)) => {
                        self.threads[thread].state = State::AtWarp;
                        return Ok(());
                    }
                    Some(Next::Wait(state)) => {
                        self.threads[thread] = Thread { state, pc: pc + 1 };
                        return Ok(());
                    }
                }
            }
            self.threads[thread].pc = pc + 1;
        }
        Ok(())
    }

    fn step(&mut self, launch: &mut Launch<'_>, thread: usize, inst: &Inst) -> Result<Option<Next>, Stop> {
        let entry = launch.entry;
        let get = |block: &Self, arg: Arg| block.value(launch, thread, arg);
        let (dst, value) = match &inst.op {
            Op::Mov(dst, arg) => (*dst, get(self, *arg)),
            Op::Unary(op, ty, dst, a) => (*dst, arith::unary(*op, *ty, get(self, *a))),
            Op::Binary(op, ty, dst, a, b) => (*dst, arith::binary(*op, *ty, get(self, *a), get(self, *b))),
            Op::Ternary(op, ty, dst, a, b, c) => {
                (*dst, arith::ternary(*op, *ty, get(self, *a), get(self, *b), get(self, *c)))
            }
            Op::Convert { to, from, round, saturate, dst, arg } => {
                (*dst, arith::convert(*to, *from, *round, *saturate, get(self, *arg)))
            }
            Op::Select(dst, a, b, p) => (*dst, get(self, if get(self, *p) & 1 == 1 { *a } else { *b })),
            Op::ToGeneric(space, dst, arg) => (*dst, get(self, *arg).wrapping_add(window(*space))),
            Op::FromGeneric(space, dst, arg) => (*dst, get(self, *arg).wrapping_sub(window(*space))),
            Op::Pack(part, dst, args) => {
                let shift = part * 8;
                let mask = u64::MAX >> (64 - shift);
                let all = args.iter().enumerate().map(|(i, arg)| (get(self, *arg) & mask) << (i as u32 * shift));
                (*dst, all.fold(0, |a, b| a | b))
            }
            Op::Unpack(part, dst, arg) => {
                let (value, shift) = (get(self, *arg), part * 8);
                for (i, dst) in dst.iter().enumerate() {
                    if let Some(dst) = dst {
                        self.set(entry, thread, *dst, value >> (i as u32 * shift) & (u64::MAX >> (64 - shift)));
                    }
                }
                return Ok(None);
            }
            Op::Compare { compare, ty, with, dst, other, a, b } => {
                let holds = arith::compare(*compare, *ty, get(self, *a), get(self, *b));
                let combine = |holds: bool| match with {
                    None => u64::from(holds),
                    Some((op, p, negated)) => {
                        let p = get(self, *p) & 1 ^ u64::from(*negated);
                        arith::binary(*op, Ty::Pred, u64::from(holds), p) & 1
                    }
                };
                let (yes, no) = (combine(holds), combine(!holds));
                if let Some(other) = other {
                    self.set(entry, thread, *other, no);
                }
                (*dst, yes)
            }
            Op::Load { .. } => return self.load(launch, thread, inst).map(|()| None),
            Op::Store { .. } => return self.store(launch, thread, inst).map(|()| None),
            Op::Atomic { .. } => return self.atomic(launch, thread, inst).map(|()| None),
            Op::Branch(to) => return Ok(Some(Next::Jump(*to))),
            Op::Barrier => return Ok(Some(Next::Wait(State::AtBarrier))),
            Op::Warp(_) => return Ok(Some(Next::Wait(State::AtWarp))),
            Op::Exit => return Ok(Some(Next::Wait(State::Done))),
            Op::Trap => return Err(Stop(crate::abi::LAUNCH_FAILED)),
            Op::Nothing => return Ok(None),
        };
        self.set(entry, thread, dst, value);
        Ok(None)
    }
}

/// Where a thread goes on, if not behind its instruction.
enum Next {
    Jump(usize),
    Wait(State),
}

fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        _ => 0,
    }
}

/// # Safety
/// `size` bytes are readable there.
unsafe fn read(from: *const u8, size: u32) -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: as the caller promises; `size` is at most 8.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size as usize) };
    u64::from_le_bytes(bytes)
}

/// # Safety
/// `size` bytes are writable there.
unsafe fn write(to: *mut u8, size: u32, value: u64) {
    // SAFETY: as the caller promises; `size` is at most 8.
    unsafe { std::ptr::copy_nonoverlapping(value.to_le_bytes().as_ptr(), to, size as usize) };
}
