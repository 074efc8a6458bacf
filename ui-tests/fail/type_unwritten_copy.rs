// Rule: device memory is written before it is read.
// Instead: `enqueue_fill` it or copy into it; both give it back as written.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error, HostBuffer};

fn user(ctx: &DeviceContext, host: HostBuffer<f32>) -> Result<(), Error> {
    let dev = ctx.enqueue_create_buffer::<f32>(8)?;
    let host = dev.enqueue_copy_to(host)?;
    Ok(())
}

fn main() {}
