// Rule: a buffer is gone once its pointer was taken.
// Instead: use the pointer, or take the memory back with `unsafe from_ptr`.
//~ E0382
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, Error};

fn user(mut dev: DeviceBuffer<f32>) -> Result<(), Error> {
    let ptr = dev.take_ptr();
    dev.enqueue_fill(0.0)?;
    println!("{ptr:?}");
    Ok(())
}

fn main() {}
