// Rule: how much memory lies behind a pointer, and for how long, is a promise.
// Instead: pass the buffer, or a slice in a `scope`.
//~ E0133
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>, values: &[f32]) -> Result<(), Error> {
    dev.enqueue_copy_from_ptr(values.as_ptr()) //~ E0133
}

fn back(dev: &DeviceBuffer<f32>, values: &mut [f32]) -> Result<(), Error> {
    dev.enqueue_copy_to_ptr(values.as_mut_ptr()) //~ E0133
}

fn main() {}
