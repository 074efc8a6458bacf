//! Buffers of one tag, each next to what the sequential model says of it.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use escrow::{
    DeviceBuffer, DeviceContext, DevicePtr, Error, HostBuffer, HostPtr, InFlight, Recorded, SharedDeviceBuffer,
    SharedHostBuffer, StreamTag,
};

use crate::elem::Elem;

/// A value of the library, in whatever state it is.
pub enum Real<T: Elem, S: StreamTag> {
    Host(HostBuffer<T, S>),
    Flight(InFlight<HostBuffer<T, S>>),
    Recorded(Recorded<InFlight<HostBuffer<T, S>>, S>),
    Dev(DeviceBuffer<T, S>),
    Raw(DeviceBuffer<MaybeUninit<T>, S>),
    SharedHost(SharedHostBuffer<T, S>),
    SharedDev(SharedDeviceBuffer<T, S>),
    HostPtr(HostPtr<T>),
    DevPtr(DevicePtr<T>),
}

/// A value, and the model of it.
pub struct Slot<T: Elem, S: StreamTag> {
    pub real: Real<T, S>,
    /// What it holds, or will hold when its stream has passed everything.
    pub data: Vec<T>,
    /// `data` says nothing: an operation that should have written it was skipped.
    pub lost: bool,
    /// Number of its stream in its pool.
    pub ctx: usize,
    /// Its block; `None` for memory of no length that was created so.
    pub block: Option<usize>,
    /// Its first element in the block, if elements of this type count there.
    pub offset: usize,
    /// `Recorded`: whether the stream was well when the point was taken.
    pub well: bool,
}

/// How many values hold each block, forgotten ones too.
#[derive(Default)]
pub struct Blocks {
    holders: HashMap<usize, usize>,
    lengths: HashMap<usize, usize>,
    next: usize,
}

impl Blocks {
    /// A block for `len` elements.
    pub fn create(&mut self, len: usize) -> Option<usize> {
        (len > 0).then(|| {
            self.next += 1;
            self.holders.insert(self.next, 1);
            self.lengths.insert(self.next, len);
            self.next
        })
    }

    /// Whether a value with these elements has all of its block, and alone.
    pub fn is_whole(&self, block: Option<usize>, offset: usize, len: usize) -> bool {
        block.is_none_or(|block| self.holders[&block] == 1 && offset == 0 && len == self.lengths[&block])
    }

    /// A block that others hold whom this world does not know.
    pub fn foreign(&mut self, len: usize) -> Option<usize> {
        let block = self.create(len);
        self.add(block, FOREIGN);
        block
    }

    pub fn add(&mut self, block: Option<usize>, count: usize) {
        if let Some(block) = block {
            *self.holders.entry(block).or_default() += count;
        }
    }

    pub fn remove(&mut self, block: Option<usize>, count: usize) {
        if let Some(block) = block {
            *self.holders.get_mut(&block).expect("a block of this world") -= count;
        }
    }

    pub fn holders(&self, block: Option<usize>) -> usize {
        block.map_or(1, |block| self.holders[&block])
    }

    pub fn is_foreign(&self, block: Option<usize>) -> bool {
        block.is_some_and(|block| self.holders[&block] >= FOREIGN / 2)
    }

    /// The block is this world's alone from now on.
    pub fn adopt(&mut self, block: Option<usize>) {
        if let Some(block) = block {
            self.holders.insert(block, 1);
        }
    }
}

const FOREIGN: usize = 1 << 20;

/// Streams that steps choose among.
pub const STREAMS: usize = 3;

/// The streams and the values of one tag.
pub struct Pool<T: Elem, S: StreamTag> {
    /// The last [`STREAMS`] of them are in use; those before have given up their handle.
    pub ctxs: Vec<Option<DeviceContext<S>>>,
    pub failed: Vec<bool>,
    pub slots: Vec<Slot<T, S>>,
}

impl<T: Elem, S: StreamTag> Pool<T, S> {
    pub fn new(ctxs: impl IntoIterator<Item = DeviceContext<S>>) -> Self {
        let ctxs: Vec<_> = ctxs.into_iter().map(Some).collect();
        Pool { failed: vec![false; ctxs.len()], ctxs, slots: Vec::new() }
    }

    /// Number of the stream that a step means by `i`.
    pub fn stream(&self, i: usize) -> usize {
        self.ctxs.len() - STREAMS + i % STREAMS
    }

    pub fn ctx(&self, stream: usize) -> DeviceContext<S> {
        self.ctxs[stream].clone().expect("a stream in use")
    }

    pub fn push(&mut self, real: Real<T, S>, data: Vec<T>, ctx: usize, block: Option<usize>) {
        self.slots.push(Slot { real, data, lost: false, ctx, block, offset: 0, well: true });
    }

    /// Takes out the `i`th slot (counted around) that `fits`.
    pub fn take(&mut self, i: usize, fits: impl Fn(&Slot<T, S>) -> bool) -> Option<Slot<T, S>> {
        let places: Vec<usize> = (0..self.slots.len()).filter(|&at| fits(&self.slots[at])).collect();
        (!places.is_empty()).then(|| self.slots.swap_remove(places[i % places.len()]))
    }

    /// Edge from one stream to another: a failure spreads along it.
    pub fn edge(&mut self, from: usize, to: usize) {
        if from != to {
            self.failed[to] |= self.failed[from];
        }
    }

    pub fn synchronize_all(&self) {
        for (ctx, failed) in self.ctxs.iter().zip(&self.failed) {
            if let Some(ctx) = ctx {
                let waited = ctx.synchronize(()).map_err(Error::from);
                expect(waited, failed.then_some("StreamFailed"));
            }
        }
    }
}

/// Name of an error's variant.
pub fn name(error: &Error) -> String {
    format!("{error:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// Compares how a call came out with what the model said.
#[track_caller]
pub fn expect<V>(result: Result<V, Error>, error: Option<&str>) -> Option<V> {
    let found = result.as_ref().err().map(name);
    assert_eq!(found.as_deref(), error, "{:?}", result.err());
    result.ok()
}

/// Repeats `f` until it succeeds: counts of streams without handles end when their workers come to it.
pub fn in_the_end<V, R>(mut value: V, mut f: impl FnMut(V) -> Result<R, V>) -> R {
    let start = Instant::now();
    loop {
        match f(value) {
            Ok(result) => return result,
            Err(back) => value = back,
        }
        // No statement about speed: without this a lost count would be a test that never ends.
        assert!(start.elapsed() < Duration::from_secs(100), "a hold was never given up");
        std::thread::yield_now();
    }
}
