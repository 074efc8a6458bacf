//! When operations run. Lazy, as a rule: nothing runs before a wait or a query asks for it, so that what a program
//! did not wait for has not happened. With a delay seed a thread of its own runs them, in random order as far as the
//! edges allow.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::abi::{NOT_READY, SUCCESS};
use crate::driver::{Capture, Driver, handle};
use crate::entry::{self, Answer};
use crate::op::{HostCall, Kind};
use crate::session::Session;

/// What a stream can do next on the way to an operation.
enum Next {
    Nothing,
    /// Somebody runs its host function.
    Busy,
    /// Another stream's operation comes first.
    After(u64, u64),
    Step,
}

impl Driver {
    fn next(&self, stream: u64, serial: u64) -> Next {
        let Some(s) = self.streams.get(stream).filter(|s| s.done < serial) else { return Next::Nothing };
        if s.busy {
            return Next::Busy;
        }
        match s.queue.front().map(|op| &op.kind) {
            None => Next::Nothing,
            Some(Kind::Wait { stream, serial }) if !self.complete(*stream, *serial) => Next::After(*stream, *serial),
            Some(_) => Next::Step,
        }
    }
}

impl Session {
    /// Puts an operation at the end of a stream. It is not run, unless the stream holds back too many.
    pub(crate) fn enqueue(&mut self, stream: u64, kind: Kind) -> u64 {
        self.hold(&kind);
        let host = matches!(kind, Kind::Host(_));
        let serial = self.push(stream, kind);
        if self.settings.delay.is_some() {
            Session::changed();
            return serial;
        }
        if host {
            pump();
        }
        let limit = self.settings.pending_limit;
        while let Some(first) = self.streams.get(stream).filter(|s| s.queue.len() > limit).and_then(|s| s.queue.front())
        {
            let first = first.serial;
            self.run(stream, first);
        }
        serial
    }

    /// Runs a stream up to an operation, and what that comes after.
    pub(crate) fn run(&mut self, stream: u64, serial: u64) {
        let (mut goal, mut behind) = ((stream, serial), Vec::new());
        loop {
            let (stream, serial) = goal;
            let next = if self.settings.delay.is_none() {
                self.next(stream, serial)
            } else if self.complete(stream, serial) {
                Next::Nothing
            } else {
                Next::Busy
            };
            match next {
                Next::Busy => self.wait(),
                Next::Step => self.step(stream),
                Next::After(other, serial) => {
                    behind.push(goal);
                    goal = (other, serial);
                }
                Next::Nothing => match behind.pop() {
                    Some(next) => goal = next,
                    None => return,
                },
            }
        }
    }

    /// Runs everything.
    pub(crate) fn run_all(&mut self) {
        let all: Vec<_> = self.streams.iter().map(|(id, s)| (id, s.last)).collect();
        for (stream, serial) in all {
            self.run(stream, serial);
        }
    }

    /// Runs one operation on the way to another: a program that polls gets on, a little at each query.
    fn advance(&mut self, mut stream: u64, mut serial: u64) {
        loop {
            match self.next(stream, serial) {
                Next::Nothing | Next::Busy => return,
                Next::After(other, n) => (stream, serial) = (other, n),
                Next::Step => return self.step(stream),
            }
        }
    }

    /// Runs the next operation of a stream, whose edges are satisfied.
    fn step(&mut self, stream: u64) {
        let Some(op) = self.streams.get_mut(stream).and_then(|s| s.queue.pop_front()) else { return };
        let serial = op.serial;
        if let Kind::Host(call) = op.kind {
            self.release(&op.kind);
            if let Some(s) = self.streams.get_mut(stream) {
                s.busy = true;
            }
            if !self.dry {
                self.unlocked(|| entry::host_function(|| call.call()));
            }
            if let Some(s) = self.streams.get_mut(stream) {
                s.busy = false;
            }
        } else {
            self.execute(stream, op);
        }
        if let Some(s) = self.streams.get_mut(stream) {
            s.done = s.done.max(serial);
        }
        self.retire(stream);
        Session::changed();
    }

    /// The host waits for all that a stream has now.
    pub(crate) fn finish(&mut self, stream: u64) -> Answer {
        let Some((serial, clock, ctx)) = self.streams.get(stream).map(|s| (s.last, s.clock.clone(), s.ctx)) else {
            return Ok(());
        };
        self.run(stream, serial);
        self.healthy(ctx)?;
        self.host_learns_stream(stream, serial, &clock);
        Ok(())
    }

    /// The host waits for what an event captured.
    pub(crate) fn finish_capture(&mut self, ctx: u64, capture: &Capture) -> Answer {
        self.run(capture.stream, capture.serial);
        self.healthy(ctx)?;
        self.host_learns(capture.slot, capture.serial, &capture.clock);
        Ok(())
    }

    /// Whether what was captured is over; the host knows it then.
    pub(crate) fn poll(&mut self, ctx: u64, capture: &Capture) -> Answer {
        if !self.complete(capture.stream, capture.serial) {
            if self.settings.delay.is_none() {
                self.advance(capture.stream, capture.serial);
                self.healthy(ctx)?;
            }
            return Err(NOT_READY);
        }
        self.host_learns(capture.slot, capture.serial, &capture.clock);
        Ok(())
    }

    /// The context's error, if it has failed.
    pub(crate) fn healthy(&self, ctx: u64) -> Answer {
        self.contexts.get(ctx).and_then(|c| c.sticky).map_or(Ok(()), Err)
    }

    /// Runs everything of a device, as calls do that free memory at once. The host learns nothing by it: no document
    /// promises it.
    pub(crate) fn drain_device(&mut self, device: i32) {
        let on_device = |d: &Driver, ctx| d.contexts.get(ctx).is_some_and(|c| c.device == device);
        let all: Vec<_> =
            self.streams.iter().filter(|(_, s)| on_device(self, s.ctx)).map(|(id, s)| (id, s.last)).collect();
        for (stream, serial) in all {
            self.run(stream, serial);
        }
    }
}

impl HostCall {
    fn call(self) {
        match self {
            // SAFETY: the caller of `cuLaunchHostFunc` vouches for the function and its argument until it has run.
            HostCall::Function(f, data) => unsafe { f(std::ptr::with_exposed_provenance_mut(data)) },
            // SAFETY: the caller of `cuStreamAddCallback` vouches for the function and its argument until it has run.
            HostCall::Callback(f, stream, data) => unsafe {
                f(handle(stream), SUCCESS, std::ptr::with_exposed_provenance_mut(data));
            },
        }
    }
}

/// At the end of the process: writes the counts, and checks what nobody waited for, since two accesses are only
/// compared once both have run.
pub(crate) fn watch_exit() {
    static START: Once = Once::new();
    START.call_once(|| {
        // SAFETY: the function may run at any time, it takes what it needs under the driver's lock.
        unsafe { atexit(at_exit) };
    });
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

extern "C" fn at_exit() {
    if let Some(path) = std::env::var_os("FAKE_CUDA_COUNTS") {
        let counts = entry::counts().into_iter().chain([("*", entry::total())]);
        let text = counts.fold(String::new(), |text, (name, count)| text + name + " " + &count.to_string() + "\n");
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("fake-cuda: {}: {error}", path.display());
        }
    }
    // Another thread may hold the lock and never get on: then there is no check.
    if let Some(mut session) = Session::try_open("exit")
        && session.settings.delay.is_none()
        && !session.streams.iter().any(|(_, s)| s.busy)
    {
        session.dry = true;
        session.run_all();
    }
}

/// Starts the thread that runs host functions which nobody waits for: a program may wait for what they do by other
/// means.
fn pump() {
    static START: Once = Once::new();
    START.call_once(|| {
        let work = || {
            loop {
                std::thread::sleep(Duration::from_millis(10));
                let session = Session::open("background");
                if session.pending_host > 0 && session.settings.delay.is_none() {
                    let has_host =
                        |s: &crate::driver::Stream| s.queue.iter().any(|op| matches!(op.kind, Kind::Host(_)));
                    let all: Vec<_> =
                        session.streams.iter().filter(|(_, s)| has_host(s)).map(|(id, s)| (id, s.last)).collect();
                    for (stream, serial) in all {
                        // On threads of their own: a host function may wait for the program.
                        drop(std::thread::spawn(move || Session::open("background").run(stream, serial)));
                    }
                }
            }
        };
        drop(std::thread::Builder::new().name("fake-cuda pump".into()).spawn(work));
    });
}

/// Starts the thread that runs operations in the background while a delay seed is set.
pub(crate) fn start_background() {
    static START: Once = Once::new();
    START.call_once(|| drop(std::thread::Builder::new().name("fake-cuda device".into()).spawn(background)));
}

fn background() {
    let mut session = Session::open("background");
    loop {
        if session.settings.delay.is_none() {
            session.wait();
            continue;
        }
        let ready: Vec<u64> = session
            .streams
            .iter()
            .filter(|(id, s)| matches!(session.next(*id, s.last), Next::Step))
            .map(|(id, _)| id)
            .collect();
        if ready.is_empty() {
            session.wait();
            continue;
        }
        let luck = session.draw();
        if luck.is_multiple_of(2) {
            // The streams are looked at again after it: other work may have come.
            session.unlocked(|| std::thread::sleep(Duration::from_micros((luck >> 8) % 150)));
        }
        let pick = ready[(luck >> 32) as usize % ready.len()];
        let last = session.streams.get(pick).map_or(0, |s| s.last);
        if matches!(session.next(pick, last), Next::Step) {
            let front = session.streams.get(pick).and_then(|s| s.queue.front());
            if front.is_some_and(|op| matches!(op.kind, Kind::Host(_))) {
                // On a thread of its own: it may wait for the program, and other streams go on meanwhile.
                session.unlocked(|| drop(std::thread::spawn(move || Session::open("background").step(pick))));
                while session
                    .streams
                    .get(pick)
                    .is_some_and(|s| !s.busy && s.queue.front().is_some_and(|op| matches!(op.kind, Kind::Host(_))))
                {
                    session.unlocked(std::thread::yield_now);
                }
            } else {
                session.step(pick);
            }
        }
    }
}

/// A short random pause, before and after a call's work, while a delay seed is set.
pub(crate) fn stumble() {
    static STATE: AtomicU64 = AtomicU64::new(0x2545_F491_4F6C_DD1D);
    let luck = STATE.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
    let luck = (luck ^ (luck >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32;
    match luck % 64 {
        0..8 => std::thread::yield_now(),
        8 => std::thread::sleep(Duration::from_micros(luck % 80)),
        _ => {}
    }
}
