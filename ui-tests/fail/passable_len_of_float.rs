// Rule: a length is an integer.
// Instead: `u32`.
//~ E0277
//~ right: pass/passable.rs
use escrow::{DevicePassable, DeviceSpan, StreamTag};

#[derive(DevicePassable)]
struct Params<'a, S: StreamTag> {
    table: DeviceSpan<'a, f32, S>,
    #[device(len_of(table))]
    len: f32,
}

fn main() {}
