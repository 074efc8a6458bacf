// Rule: a passable struct passes something; a unit struct has nothing to pass.
// Instead: leave the parameter out.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Nothing;

fn main() {}
