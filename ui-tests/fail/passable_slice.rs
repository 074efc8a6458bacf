// Rule: a slice of the host is not passed to a kernel.
// Instead: `DeviceSpan<'a, f32, S>`, or `#[device(skip)]`.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Params<'a> {
    table: &'a [f32],
}

fn main() {}
