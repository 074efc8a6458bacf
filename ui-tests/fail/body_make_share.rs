// Rule: only a launch makes a share.
// Instead: let the device call the body.
//~ E0451
//~ right: pass/kernels.rs
use escrow::Share;

fn make() -> Share<'static> {
    Share { range: 0..8, threads: 8, stays: std::marker::PhantomData }
}

fn main() {}
