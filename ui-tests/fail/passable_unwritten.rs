// Rule: a kernel reads written memory.
// Instead: write it first, or pass it as a `DeviceSpanMut`.
//~ E0277
//~ right: pass/passable.rs
use std::mem::MaybeUninit;

use escrow::{DevicePassable, DeviceSpan, StreamTag};

#[derive(DevicePassable)]
struct Params<'a, S: StreamTag> {
    table: DeviceSpan<'a, MaybeUninit<f32>, S>,
}

fn main() {}
