// Rule: the layout of the host struct is not what a kernel sees.
// Instead: leave `packed` out.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
#[repr(C, packed)]
struct Params {
    kind: u8,
    weight: f32,
}

fn main() {}
