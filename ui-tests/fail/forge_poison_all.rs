// Rule: nobody says of all types what holds for none of the library's.
// Instead: a wait, or a copy.
//~ E0210
//~ right: pass/flight.rs
use escrow::{HostReadable, OnHost};

impl<T> OnHost for T {} //~ E0210
impl<T> HostReadable for T {} //~ E0210

fn main() {}
