// Rule: signals are set or added to.
// Instead: `Set` or `Add`.
//~ E0277
//~ right: pass/shmem.rs
use escrow::SignalKind;

#[derive(Clone, Copy)]
struct Or;

impl SignalKind for Or { //~ E0277
    const ADDS: bool = true;
}

fn main() {}
