//! The driver's state: contexts, streams, events, memory, and what the host is known to have waited for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use crate::abi::*;
use crate::clock::Clock;
use crate::entry::{self, Answer};
use crate::handle::Table;
use crate::memory::Memory;
use crate::module::{Function, Module};
use crate::op::{Kind as Work, Op};
use crate::report::{Kind, Reports};
use crate::settings::{Fault, Settings};

/// A context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) device: i32,
    pub(crate) flags: u32,
    /// The error that every later call returns.
    pub(crate) sticky: Option<CUresult>,
    /// The stream of the synchronous functions.
    pub(crate) null: u64,
    /// Contexts whose memory this one may use.
    pub(crate) peers: Vec<u64>,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) ctx: u64,
    pub(crate) slot: u32,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) queue: VecDeque<Op>,
    /// Serial of the last operation that has run, and of the last one enqueued.
    pub(crate) done: u64,
    pub(crate) last: u64,
    /// What its next operation comes after.
    pub(crate) clock: Arc<Clock>,
    seen_host: u64,
    /// A host function of it runs now.
    pub(crate) busy: bool,
    /// False once destroyed: it goes when its work has run.
    pub(crate) alive: bool,
    null: bool,
}

impl Stream {
    fn blocking(&self) -> bool {
        self.flags & STREAM_NON_BLOCKING == 0
    }
}

/// What an event's record captured.
#[derive(Debug, Clone)]
pub(crate) struct Capture {
    pub(crate) stream: u64,
    pub(crate) slot: u32,
    pub(crate) serial: u64,
    pub(crate) clock: Arc<Clock>,
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) ctx: u64,
    pub(crate) flags: u32,
    pub(crate) capture: Option<Capture>,
    pub(crate) time: Option<Instant>,
}

/// A memory pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) device: i32,
    pub(crate) attributes: std::collections::BTreeMap<i32, u64>,
    pub(crate) used: u64,
    pub(crate) high: u64,
}

/// A device.
#[derive(Debug)]
pub(crate) struct Device {
    /// 0 until first retained.
    pub(crate) primary: u64,
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    pub(crate) default_pool: u64,
    pub(crate) pool: u64,
    pub(crate) used: u64,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) initialized: bool,
    pub(crate) settings: Settings,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: Table<Context>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) pools: Table<Pool>,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) memory: Memory,
    pub(crate) reports: Reports,
    /// What the host knows to be complete. One clock for all host threads: how those synchronise is not seen here,
    /// and a clock of their own would report programs that are right.
    pub(crate) host: Clock,
    host_version: u64,
    /// Serial of the last operation.
    pub(crate) serial: u64,
    /// The stream of each slot, and slots that are free with the serial that the host must know before they are used
    /// again.
    slots: Vec<u64>,
    free_slots: Vec<(u32, u64)>,
    /// Launches enqueued and not run: what they touch is not known yet.
    pub(crate) pending_launches: usize,
    pub(crate) pending_host: usize,
    /// Calls that waited for a whole device.
    pub(crate) device_waits: u64,
    /// Copies from or to memory that is not pinned.
    pub(crate) pageable: u64,
    pub(crate) log: Vec<String>,
    pub(crate) keep_log: bool,
    pub(crate) random: u64,
    /// The process ends: operations are checked and move nothing.
    pub(crate) dry: bool,
    /// The driver call that runs now.
    pub(crate) call: &'static str,
}

/// Handles are numbers in a pointer's clothes.
pub(crate) fn id<T>(handle: *mut T) -> u64 {
    handle.addr() as u64
}

/// The pointer's clothes.
pub(crate) fn handle<T>(id: u64) -> *mut T {
    std::ptr::without_provenance_mut(id as usize)
}

impl Driver {
    pub(crate) fn new() -> Self {
        let mut driver = Self {
            initialized: false,
            settings: Settings::from_env(),
            devices: Vec::new(),
            contexts: Table::new(0xC7),
            streams: Table::new(0x57),
            events: Table::new(0xE7),
            pools: Table::new(0xB0),
            modules: Table::new(0x3D),
            functions: Table::new(0xF0),
            memory: Memory::new(),
            reports: Reports::new(),
            host: Clock::new(),
            host_version: 0,
            serial: 0,
            slots: Vec::new(),
            free_slots: Vec::new(),
            pending_launches: 0,
            pending_host: 0,
            device_waits: 0,
            pageable: 0,
            log: Vec::new(),
            keep_log: false,
            random: 1,
            dry: false,
            call: "",
        };
        driver.apply();
        driver
    }

    /// Makes the settings effective.
    pub(crate) fn apply(&mut self) {
        let settings = &self.settings;
        self.reports.abort = settings.abort;
        self.random = settings.delay.map_or(1, |seed| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        entry::set_flag(entry::NULL, settings.null);
        entry::set_flag(entry::FAULTS, !settings.faults.is_empty());
        entry::set_flag(entry::DELAY, settings.delay.is_some());
        entry::set_flag(entry::LOG, settings.print || self.keep_log);
        while self.devices.len() < self.settings.devices {
            let device = self.devices.len() as i32;
            let pool = self.pools.insert(Pool { device, ..Pool::default() });
            let (retained, primary_flags, primary, used) = (0, 0, 0, 0);
            self.devices.push(Device { primary, retained, primary_flags, default_pool: pool, pool, used });
        }
    }

    /// Reports a finding.
    #[cold]
    pub(crate) fn report(&mut self, kind: Kind, text: &str) {
        self.reports.add(kind, text);
    }

    /// Reports a finding of the call that runs now.
    #[cold]
    pub(crate) fn complain(&mut self, kind: Kind, text: &str) {
        let text = format!("{} {text}", self.call);
        self.reports.add(kind, &text);
    }

    /// The failure that a call is to have, if any.
    pub(crate) fn fault(&mut self, name: &str) -> Option<Fault> {
        let mut hit = None;
        for fault in self.settings.faults.iter_mut().filter(|f| f.name == "*" || f.name == name) {
            fault.seen += 1;
            if fault.nth == 0 || fault.seen == fault.nth {
                hit = Some(fault.clone());
            }
        }
        hit
    }

    pub(crate) fn log_call(&mut self, name: &str, args: &str, code: CUresult) {
        let line = format!("[{}] {name}({args}) = {code}", self.serial);
        if self.settings.print {
            eprintln!("fake-cuda: {line}");
        }
        if self.keep_log {
            self.log.push(line);
        }
    }

    /// A random number.
    pub(crate) fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    // --- Lookups

    /// A device.
    pub(crate) fn device(&mut self, ordinal: CUdevice) -> Result<&mut Device, CUresult> {
        let count = self.settings.devices;
        usize::try_from(ordinal).ok().filter(|d| *d < count).and_then(|d| self.devices.get_mut(d)).ok_or(INVALID_DEVICE)
    }

    /// Reports a dead or foreign handle.
    pub(crate) fn bad_handle(&mut self, what: &str, handle: u64) -> CUresult {
        self.complain(Kind::BadHandle, &format!("got {handle:#x}, which is no live {what}"));
        INVALID_HANDLE
    }

    /// The current context, for a call that needs one.
    pub(crate) fn current(&mut self) -> Result<u64, CUresult> {
        let ctx = crate::api::context::current();
        if ctx == 0 {
            return Err(INVALID_CONTEXT);
        }
        match self.contexts.get(ctx) {
            None => Err(CONTEXT_IS_DESTROYED),
            Some(context) => context.sticky.map_or(Ok(ctx), Err),
        }
    }

    /// A call about an object of `ctx`: fails where the context has failed, and in strict mode where it is not current.
    pub(crate) fn usable(&self, ctx: u64) -> Answer {
        if self.settings.strict && crate::api::context::current() != ctx {
            return Err(INVALID_CONTEXT);
        }
        self.contexts.get(ctx).and_then(|c| c.sticky).map_or(Ok(()), Err)
    }

    /// A live stream, by the caller's handle.
    pub(crate) fn stream(&mut self, handle: CUstream) -> Result<u64, CUresult> {
        let id = id(handle);
        match self.streams.get(id) {
            Some(stream) if stream.alive && !stream.null => self.usable(stream.ctx).map(|()| id),
            _ => Err(self.bad_handle("stream (the NULL, legacy and per-thread streams are refused)", id)),
        }
    }

    /// A live event, by the caller's handle.
    pub(crate) fn event(&mut self, handle: CUevent) -> Result<u64, CUresult> {
        let id = id(handle);
        match self.events.get(id) {
            Some(event) => self.usable(event.ctx).map(|()| id),
            None => Err(self.bad_handle("event", id)),
        }
    }

    /// The context of a stream that is known to be there.
    pub(crate) fn ctx_of(&self, stream: u64) -> u64 {
        self.streams.get(stream).map_or(0, |s| s.ctx)
    }

    // --- Streams

    /// A new stream.
    pub(crate) fn new_stream(&mut self, ctx: u64, flags: u32, priority: i32, null: bool) -> u64 {
        // A slot of an old stream only where the host knows that all of its work is over: the new one's work comes
        // after it then.
        let host = &self.host;
        let slot = self.free_slots.iter().position(|(slot, last)| host.get(*slot) >= *last);
        let slot = slot.map_or(self.slots.len() as u32, |at| self.free_slots.swap_remove(at).0);
        let id = self.streams.insert(Stream {
            ctx,
            slot,
            flags,
            priority,
            queue: VecDeque::new(),
            done: 0,
            last: 0,
            clock: Arc::new(self.host.clone()),
            seen_host: self.host_version,
            busy: false,
            alive: true,
            null,
        });
        if slot as usize == self.slots.len() {
            self.slots.push(id);
        } else {
            self.slots[slot as usize] = id;
        }
        id
    }

    /// Drops a destroyed stream whose work has run.
    pub(crate) fn retire(&mut self, id: u64) {
        if self.streams.get(id).is_some_and(|s| !s.alive && s.queue.is_empty() && !s.busy)
            && let Some(stream) = self.streams.remove(id)
        {
            self.free_slots.push((stream.slot, stream.last));
        }
    }

    /// The stream that has, or had, a slot.
    pub(crate) fn owner(&self, slot: u32) -> u64 {
        self.slots.get(slot as usize).copied().unwrap_or(0)
    }

    /// Live streams of the program.
    pub(crate) fn live_streams(&self) -> usize {
        self.streams.iter().filter(|(_, s)| s.alive && !s.null).count()
    }

    /// Whether a stream has run an operation.
    #[inline]
    pub(crate) fn complete(&self, stream: u64, serial: u64) -> bool {
        self.streams.get(stream).is_none_or(|s| s.done >= serial)
    }

    /// The host waited for this.
    pub(crate) fn host_learns(&mut self, slot: u32, serial: u64, clock: &Clock) {
        let news = self.host.join(clock);
        if self.host.learn(slot, serial) || news {
            self.host_version += 1;
        }
    }

    /// The host waited for all of a stream up to `serial`.
    pub(crate) fn host_learns_stream(&mut self, stream: u64, serial: u64, clock: &Clock) {
        if let Some(slot) = self.streams.get(stream).map(|s| s.slot) {
            self.host_learns(slot, serial, clock);
        }
    }

    /// What comes next on `stream` comes after all that `other` has now.
    fn order_after(&mut self, stream: u64, other: u64) {
        let Some((slot, last, clock)) = self.streams.get(other).map(|o| (o.slot, o.last, o.clock.clone())) else {
            return;
        };
        self.await_capture(stream, &Capture { stream: other, slot, serial: last, clock });
    }

    /// What comes next on `stream` comes after what was captured.
    pub(crate) fn await_capture(&mut self, stream: u64, capture: &Capture) {
        let call = self.call;
        let pending = !self.complete(capture.stream, capture.serial);
        let Some(waiter) = self.streams.get_mut(stream) else { return };
        if waiter.clock.get(capture.slot) < capture.serial || !waiter.clock.covers(&capture.clock) {
            let clock = Arc::make_mut(&mut waiter.clock);
            clock.join(&capture.clock);
            clock.learn(capture.slot, capture.serial);
        }
        if pending && capture.stream != stream {
            self.serial += 1;
            let kind = Work::Wait { stream: capture.stream, serial: capture.serial };
            waiter.queue.push_back(Op { serial: self.serial, call, clock: waiter.clock.clone(), kind });
            waiter.last = self.serial;
        }
    }

    /// Puts an operation at the end of a stream; gives its serial.
    pub(crate) fn push(&mut self, id: u64, kind: Work) -> u64 {
        let Some(stream) = self.streams.get_mut(id) else { return 0 };
        if stream.seen_host != self.host_version {
            Arc::make_mut(&mut stream.clock).join(&self.host);
            stream.seen_host = self.host_version;
        }
        if stream.blocking() {
            self.obey_null_stream(id);
        }
        self.serial += 1;
        let (serial, call) = (self.serial, self.call);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.queue.push_back(Op { serial, call, clock: stream.clock.clone(), kind });
            stream.last = serial;
        }
        serial
    }

    /// The NULL stream and blocking streams of one context run in turn.
    fn obey_null_stream(&mut self, id: u64) {
        let Some((ctx, null)) = self.streams.get(id).map(|s| (s.ctx, s.null)) else { return };
        let others: Vec<u64> = if null {
            let blocking = |(other, s): (u64, &Stream)| (s.ctx == ctx && s.blocking() && other != id).then_some(other);
            self.streams.iter().filter_map(blocking).collect()
        } else {
            self.contexts.get(ctx).map(|c| c.null).into_iter().collect()
        };
        for other in others {
            self.order_after(id, other);
        }
    }

    // --- Failure

    /// A context fails for good: what is enqueued on it never runs.
    pub(crate) fn fail_context(&mut self, ctx: u64, code: CUresult) {
        if let Some(context) = self.contexts.get_mut(ctx) {
            context.sticky.get_or_insert(code);
        }
        let streams: Vec<u64> = self.streams.iter().filter(|(_, s)| s.ctx == ctx).map(|(id, _)| id).collect();
        for id in streams {
            let Some(stream) = self.streams.get_mut(id) else { continue };
            let queue = std::mem::take(&mut stream.queue);
            stream.done = stream.last;
            for op in queue {
                self.discard(&op);
            }
            self.retire(id);
        }
    }

    /// The current context fails for good, or the first device's where none is current.
    pub(crate) fn fail_current(&mut self, code: CUresult) {
        let current = crate::api::context::current();
        let ctx = if current == 0 { self.devices.first().map_or(0, |d| d.primary) } else { current };
        self.fail_context(ctx, code);
    }
}
