// Rule: what a tag is to itself is settled.
// Instead: nothing; it already is.
//~ E0119
//~ right: pass/streams.rs
use escrow::{AnyStream, SameStream};

escrow::streams! { Upload }

impl SameStream<Upload> for Upload {} //~ E0119
impl SameStream<Upload> for AnyStream {} //~ E0119

fn main() {}
