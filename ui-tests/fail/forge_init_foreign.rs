// Rule: nobody says of unwritten memory that it is written, with `unsafe` neither.
// Instead: `unsafe assume_init` for one buffer.
//~ E0117
//~ right: pass/types.rs
use std::mem::MaybeUninit;

use escrow::Init;

struct Mine(f32);

unsafe impl Init for MaybeUninit<Mine> {} //~ E0117
unsafe impl Init for Option<Mine> {} //~ E0117
unsafe impl Init for [MaybeUninit<Mine>; 1] {} //~ E0117

fn main() {}
