// Rule: that a type is plain data is a promise.
// Instead: `#[derive(DType)]`, which proves it.
//~ E0200
//~ right: pass/elements.rs
use std::fmt;

use escrow::{DType, Init};

#[derive(Clone, Copy)]
struct Mine(bool);

unsafe impl Init for Mine {}

impl DType for Mine { //~ E0200
    const NAME: &'static str = "Mine";
    const C_NAME: &'static str = "bool";
    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn main() {}
