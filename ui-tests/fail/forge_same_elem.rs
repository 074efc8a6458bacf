// Rule: nobody else says that two element types are the same.
// Instead: `view::<U>()`, which checks sizes and alignment.
//~ E0277
//~ right: pass/types.rs
use escrow::SameElem;

struct Mine([u64; 4]);

impl SameElem<f32> for Mine {} //~ E0277
impl SameElem<Mine> for f32 {} //~ E0277
impl SameElem<Mine> for [Mine; 2] {} //~ E0277
impl SameElem<Mine> for Option<Mine> {} //~ E0277
impl SameElem<Mine> for Vec<Mine> {} //~ E0277
impl SameElem<Mine> for () {} //~ E0277
impl SameElem<Mine> for std::mem::MaybeUninit<Mine> {} //~ E0277

fn main() {}
