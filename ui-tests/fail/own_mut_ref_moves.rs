// Rule: a variable of type `&mut DeviceBuffer` moves into the call that it is the destination of.
// Instead: make it the receiver, `dst.enqueue_copy_from(src)`, or reborrow it, `&mut *dst`.
//~ E0382
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, Error};

fn user(src: &DeviceBuffer<f32>, dst: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    src.enqueue_copy_to(dst)?;
    src.enqueue_copy_to(dst)?;
    Ok(())
}

fn main() {}
