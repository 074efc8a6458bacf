// Rule: what changes the stream of memory is `unsafe` to call, in generic code too.
// Instead: `handoff`.
//~ E0133
//~ right: pass/streams.rs
use escrow::{DeviceContext, Handoff, StreamTag};

fn user<S: StreamTag, S2: StreamTag, V: Handoff<S>>(values: V, to: &DeviceContext<S2>) -> V::To<S2> {
    values.retag(to)
}

fn main() {}
