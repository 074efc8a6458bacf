// Rule: generic code says that its `T` is an element.
// Instead: `T: DType`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

fn user<T>(ctx: &DeviceContext) -> Result<DeviceBuffer<T>, Error> {
    ctx.enqueue_create_buffer_zeroed::<T>(8)
}

fn main() {}
