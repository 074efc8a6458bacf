// Rule: what goes into an `out` parameter comes back in the result.
// Instead: `let out = kernels.square(ctx, x, out)?;`.
//~ E0382
//~ right: pass/kernels.rs
use escrow::{DeviceBuffer, DeviceContext, Error};

#[escrow::kernels(struct Kernels)]
unsafe extern "kernel" {
    #[launch(cover(out))]
    #[requires(x.len() == out.len())]
    safe fn square(x: &[f32], #[out(each)] out: &mut [f32]);
}

fn user(kernels: &Kernels, ctx: &DeviceContext, x: &DeviceBuffer<f32>) -> Result<(), Error> {
    let out = ctx.enqueue_create_buffer::<f32>(8)?;
    let squares = kernels.square(ctx, x, out)?;
    println!("{} {}", out.len(), squares.len());
    Ok(())
}

fn main() {}
