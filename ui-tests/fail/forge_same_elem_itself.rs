// Rule: what an element type is to itself is settled.
// Instead: nothing; it already is.
//~ E0119
//~ right: pass/types.rs
use escrow::SameElem;

struct Mine;

impl SameElem<Mine> for Mine {} //~ E0119

fn main() {}
