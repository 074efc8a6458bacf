// Rule: a passable struct passes something.
// Instead: leave the parameter out.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Nothing {}

fn main() {}
