// Rule: a struct is an element only if it says so.
// Instead: `#[derive(Clone, Copy, DType)]` and `#[repr(C)]`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error};

struct Particle {
    position: [f32; 3],
    charge: f32,
}

fn user(ctx: &DeviceContext) -> Result<(), Error> {
    let particles = ctx.create_host_buffer::<Particle>(8)?;
    Ok(())
}

fn main() {}
