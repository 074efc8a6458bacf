// Rule: shared device memory is not the destination of a copy.
// Instead: `try_unshare` it when the other handles are gone.
//~ E0277
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, Error, SharedDeviceBuffer};

fn user(dev: &DeviceBuffer<f32>, mut shared: SharedDeviceBuffer<f32>) -> Result<(), Error> {
    dev.enqueue_copy_to(&mut shared)?;
    Ok(())
}

fn main() {}
