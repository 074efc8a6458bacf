// Rule: the fields of a passable struct mean something to a kernel.
// Instead: leave it on the host, `#[device(skip)]`.
//~ E0277
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Params {
    factor: f32,
    name: String,
}

fn main() {}
