// Rule: that a type is never unwritten memory is a promise.
// Instead: `#[derive(DType)]`, which proves it.
//~ E0200
//~ right: pass/elements.rs
use escrow::Init;

struct Mine(std::mem::MaybeUninit<f32>);

impl Init for Mine {} //~ E0200

fn main() {}
