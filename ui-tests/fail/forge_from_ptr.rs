// Rule: that a pointer owns its memory alone is a promise.
// Instead: keep the buffer.
//~ E0133
//~ right: pass/ownership.rs
use escrow::{DeviceBuffer, DeviceContext, DevicePtr, Error};

fn user(ctx: &DeviceContext, ptr: DevicePtr<f32>) -> Result<DeviceBuffer<f32>, Error> {
    DeviceBuffer::from_ptr(ctx, ptr, 8)
}

fn main() {}
