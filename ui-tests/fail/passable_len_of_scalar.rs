// Rule: `len_of` names something that has a length.
// Instead: the name of a span field.
//~ E0277
//~ right: pass/passable.rs
use escrow::DevicePassable;

#[derive(DevicePassable)]
struct Params {
    weight: f32,
    #[device(len_of(weight))]
    len: u32,
}

fn main() {}
