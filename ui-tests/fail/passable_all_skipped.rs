// Rule: a passable struct passes something.
// Instead: skip fewer fields.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Params {
    #[device(skip)]
    name: String,
}

fn main() {}
