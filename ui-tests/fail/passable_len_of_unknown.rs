// Rule: `len_of` names a field.
// Instead: the name of a span field of the struct.
//~ -
//~ right: pass/passable.rs
use escrow::{DevicePassable, DeviceSpan, StreamTag};

#[derive(DevicePassable)]
struct Params<'a, S: StreamTag> {
    table: DeviceSpan<'a, f32, S>,
    #[device(len_of(tabel))]
    len: u32,
}

fn main() {}
