// Rule: nobody else says that two streams are the same.
// Instead: `handoff` memory from one to the other.
//~ E0277
//~ right: pass/streams.rs
use escrow::{AnyStream, Dyn, SameStream};

escrow::streams! { Upload, Compute }

struct Mine;

impl SameStream<Compute> for Upload {} //~ E0277
impl SameStream<Dyn> for Upload {} //~ E0277
impl SameStream<Upload> for Dyn {} //~ E0277
impl SameStream<Upload> for Mine {} //~ E0277
impl SameStream<Mine> for Mine {} //~ E0277
impl SameStream<Mine> for AnyStream {} //~ E0277
impl SameStream<Upload> for () {} //~ E0277
impl SameStream<Upload> for Option<Compute> {} //~ E0277
impl SameStream<Upload> for Vec<Compute> {} //~ E0277
impl SameStream<Upload> for [Compute; 1] {} //~ E0277

fn main() {}
