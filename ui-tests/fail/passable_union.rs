// Rule: `DevicePassable` is not for unions.
// Instead: a struct.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
union Bits {
    int: u32,
    float: f32,
}

fn main() {}
