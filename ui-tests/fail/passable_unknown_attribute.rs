// Rule: `#[device(...)]` knows `skip`, `rename` and `len_of`.
// Instead: one of these.
//~ -
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Params {
    #[device(ignore)]
    name: String,
    weight: f32,
}

fn main() {}
