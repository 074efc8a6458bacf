// Rule: a slice has the elements of the buffer that it is copied into.
// Instead: convert the values first.
//~ E0308
//~ right: pass/types.rs
use escrow::{DeviceBuffer, Error};

fn user(dev: &mut DeviceBuffer<f32>, values: &[f64]) -> Result<(), Error> {
    dev.copy_from_slice(values)
}

fn main() {}
