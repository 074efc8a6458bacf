// Rule: `DevicePassable` is not for enums.
// Instead: a struct.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
enum Mode {
    Fast,
    Exact,
}

fn main() {}
