// Rule: a length is not negative.
// Instead: a length is `usize`; what comes from elsewhere goes through `usize::try_from`.
//~ E0277 E0600
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let host = ctx.create_host_buffer::<f32>(-4)?; //~ E0600
    let dev = ctx.enqueue_create_buffer_zeroed::<f32>(-4)?; //~ E0600
    let part = dev.as_span().slice(-1..2)?; //~ E0277
    println!("{} {}", host.len(), part.len());
    Ok(())
}

fn main() {}
