// Rule: what a kernel body gets, which may be slices of device memory, is `unsafe` to take.
// Instead: pass the value to a kernel.
//~ E0133
//~ right: pass/passable.rs
use escrow::{DeviceLayout, DeviceSpan, KernelSpan};

fn user<'k>(span: &DeviceSpan<'_, f32>) -> KernelSpan<'k, f32> {
    span.to_body()
}

fn main() {}
