// Rule: only a launch makes a share.
// Instead: let the device call the body.
//~ E0624
//~ right: pass/kernels.rs
use escrow::Share;

fn make() -> Share<'static> {
    unsafe { Share::new(0..8, 8) }
}

fn main() {}
