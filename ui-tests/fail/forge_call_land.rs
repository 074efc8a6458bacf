// Rule: what makes memory in flight the host's again is `unsafe` to call, in generic code too.
// Instead: a wait.
//~ E0133
//~ right: pass/flight.rs
use escrow::{Flight, StreamTag};

fn user<S: StreamTag, V: Flight<S>>(values: V) -> V::Landed {
    values.land()
}

fn main() {}
