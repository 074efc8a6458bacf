// Rule: memory that nothing has written goes into an `out` parameter, not into one that is read too.
// Instead: write it first.
//~ E0277
//~ right: pass/kernels.rs
use escrow::{DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(data))]
    safe fn scale(factor: f32, data: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext) -> Result<(), Error> {
    let mut data = ctx.enqueue_create_buffer::<f32>(8)?;
    kernels.scale(ctx, 2.0, &mut data)?;
    Ok(())
}

fn main() {}
