//! A scheduler that makes ordering mistakes show, the same way each time.
//!
//! Workers do not run freely: each operation is granted, one at a time, at calls from the host. How many and whose is
//! drawn from the seed, so a program whose calls come in one order has its operations run in one order. Work stays
//! pending as long as the draw allows, and streams overtake each other wherever no event forbids it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::core::Core;
use super::event::Event;
use super::queue::Claim;
use super::sync::lock;
use crate::op::Op;

/// How long a call waits for what it granted. A kernel body that waits for the host to do something would hang the
/// program otherwise; the order is the machine's from then on.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a wait looks at what it cannot be told of: streams that are not this scheduler's.
const LOOK: Duration = Duration::from_millis(1);
/// Operations to run after a call from the host: mostly none.
const RUNS: [usize; 8] = [0, 0, 0, 0, 0, 1, 2, 3];

/// Grants operations to the workers of its streams.
pub(crate) struct Scheduler {
    state: Mutex<State>,
    /// Rung when a worker has passed an operation.
    progress: Condvar,
}

struct State {
    random: u64,
    /// In the order in which they were made.
    streams: Vec<Stream>,
    /// What was granted: the place of the stream in order of creation, and the number of its operation.
    #[cfg(test)]
    log: Vec<(u64, u64)>,
    #[cfg(test)]
    joined: u64,
}

struct Stream {
    core: Arc<Core>,
    /// What was enqueued behind `granted`; with the event, where it is a wait for one.
    queued: VecDeque<Option<Event>>,
    granted: u64,
    /// No handle is left, so nobody would grant: the worker goes on by itself.
    closed: bool,
    /// It was waited for longer than a call should wait.
    stuck: bool,
    #[cfg(test)]
    id: u64,
}

impl Stream {
    /// Whether the worker has something to do that it can do now, as of `done`.
    fn can_go_on(&self, done: u64, fired: impl Fn(&Event) -> bool) -> bool {
        if done < self.granted {
            return true;
        }
        // Of a closed stream nothing is taken out of `queued` when it is passed.
        let at = (done - self.granted) as usize;
        self.queued.get(at).is_some_and(|awaited| awaited.as_ref().is_none_or(fired))
    }
}

impl State {
    /// The next number, of splitmix64.
    fn draw(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % below as u64) as usize
    }

    fn stream(&mut self, core: &Core) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|stream| std::ptr::eq(&raw const *stream.core, core))
    }

    /// Places of the streams to which an operation can be granted.
    fn runnable(&self) -> Vec<usize> {
        let can_run = |stream: &Stream| {
            !stream.closed
                && stream.core.has_passed(stream.granted)
                && stream.can_go_on(stream.granted, Event::has_passed)
        };
        (0..self.streams.len()).filter(|&place| can_run(&self.streams[place])).collect()
    }

    /// Whether no closed stream is running by itself any more.
    fn is_settled(&self) -> bool {
        // All are judged by one picture: one that was looked at before the event it waits for fired would seem to be
        // at rest.
        let done: Vec<u64> = self.streams.iter().map(|stream| stream.core.done()).collect();
        let fired = |event: &Event| {
            let place = self.streams.iter().position(|stream| event.is_on(&stream.core));
            place.map_or_else(|| event.core().done(), |place| done[place]) >= event.number()
        };
        self.streams
            .iter()
            .zip(&done)
            .all(|(stream, done)| !stream.closed || stream.stuck || !stream.can_go_on(*done, fired))
    }
}

impl Scheduler {
    /// A scheduler whose choices follow from `seed`.
    pub(crate) fn new(seed: u64) -> Arc<Scheduler> {
        Arc::new(Scheduler {
            state: Mutex::new(State {
                random: seed,
                streams: Vec::new(),
                #[cfg(test)]
                log: Vec::new(),
                #[cfg(test)]
                joined: 0,
            }),
            progress: Condvar::new(),
        })
    }

    /// Takes in a new stream.
    pub(super) fn join(&self, core: &Arc<Core>) {
        let mut state = lock(&self.state);
        #[cfg(test)]
        let id = {
            state.joined += 1;
            state.joined
        };
        state.streams.push(Stream {
            core: Arc::clone(core),
            queued: VecDeque::new(),
            granted: 0,
            closed: false,
            stuck: false,
            #[cfg(test)]
            id,
        });
    }

    /// Claims the next position of `core`, and notes what will be there.
    pub(super) fn claim<'a>(&self, core: &'a Core, awaited: Option<&Event>) -> Claim<'a, Op> {
        let mut state = lock(&self.state);
        loop {
            if let Some(claim) = core.try_claim() {
                // Under the lock, so that notes and positions are in one order.
                if let Some(stream) = state.stream(core) {
                    stream.queued.push_back(awaited.cloned());
                }
                return claim;
            }
            state = self.run_one_or_look(state);
        }
    }

    /// Runs a few operations, mostly none.
    pub(super) fn step(&self) {
        let mut state = self.settle(lock(&self.state));
        let runs = RUNS[state.draw(RUNS.len())];
        for _ in 0..runs {
            let ran;
            (state, ran) = self.run_one(state);
            if !ran {
                return;
            }
        }
    }

    /// Runs operations until `core` has passed operation `number`.
    pub(super) fn run_until(&self, core: &Core, number: u64) {
        let mut state = self.settle(lock(&self.state));
        while !core.has_passed(number) {
            state = self.run_one_or_look(state);
        }
    }

    /// A worker has passed an operation.
    pub(super) fn progressed(&self) {
        drop(lock(&self.state));
        self.progress.notify_all();
    }

    /// Lets the worker of a stream without handles go on by itself.
    pub(super) fn close(&self, core: &Core) {
        if let Some(stream) = lock(&self.state).stream(core) {
            stream.closed = true;
        }
        core.grant(u64::MAX);
    }

    /// Forgets a stream whose worker ends.
    pub(super) fn leave(&self, core: &Arc<Core>) {
        let mut state = lock(&self.state);
        let place = state.streams.iter().position(|stream| Arc::ptr_eq(&stream.core, core));
        let stream = place.map(|place| state.streams.remove(place));
        drop(state);
        drop(stream);
        self.progress.notify_all();
    }

    /// Runs one operation, or waits a little for what other threads and closed streams do.
    fn run_one_or_look<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let (state, ran) = self.run_one(state);
        if ran {
            return state;
        }
        self.progress.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Grants one operation of a stream drawn among those that can run, and waits until it has been passed.
    fn run_one<'a>(&'a self, mut state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        let places = state.runnable();
        if places.is_empty() {
            return (state, false);
        }
        let place = places[state.draw(places.len())];
        let stream = &mut state.streams[place];
        let awaited = stream.queued.pop_front();
        stream.granted += 1;
        let (core, number) = (Arc::clone(&stream.core), stream.granted);
        #[cfg(test)]
        {
            let id = stream.id;
            state.log.push((id, number));
        }
        core.grant(number);
        state = self.wait_for(state, |_| core.has_passed(number)).0;
        drop(awaited);
        (self.settle(state), true)
    }

    /// Waits until closed streams have come as far as they can, so that where they are does not depend on the machine.
    fn settle<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let (mut state, settled) = self.wait_for(state, State::is_settled);
        if !settled {
            for stream in &mut state.streams {
                stream.stuck |= stream.closed;
            }
        }
        state
    }

    /// Waits until `ready`, with patience; the lock is free meanwhile, so that other threads and bodies can go on.
    fn wait_for<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        ready: impl Fn(&State) -> bool,
    ) -> (MutexGuard<'a, State>, bool) {
        let start = Instant::now();
        loop {
            if ready(&state) {
                return (state, true);
            }
            let Some(left) = PATIENCE.checked_sub(start.elapsed()) else { return (state, false) };
            state = self.progress.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    #[cfg(test)]
    pub(super) fn log(&self) -> Vec<(u64, u64)> {
        lock(&self.state).log.clone()
    }
}
