// Rule: a kernel's parameter, which may hold pointers, is `unsafe` to take.
// Instead: pass the value to a kernel.
//~ E0133
//~ right: pass/passable.rs
use escrow::DeviceLayout;

fn user<P: DeviceLayout>(params: &P) -> P::DeviceType {
    params.to_device()
}

fn main() {}
